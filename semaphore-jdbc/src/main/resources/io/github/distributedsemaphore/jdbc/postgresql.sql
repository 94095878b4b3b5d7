-- The table of the semaphores. The application needs SELECT, INSERT, UPDATE and DELETE on it, and no more.
-- Half of each page is left free, so that a row that changes often stays where it is and no index has to follow.
CREATE TABLE IF NOT EXISTS semaphores (
    name text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    state text NOT NULL
) WITH (fillfactor = 50)
