-- The table of the semaphores.
CREATE TABLE IF NOT EXISTS semaphores (
    name varchar(765) PRIMARY KEY,
    version bigint NOT NULL,
    state varchar(1000000000) NOT NULL
)
