-- The table of the semaphores. Names that differ by case or by a trailing space only are different.
CREATE TABLE IF NOT EXISTS semaphores (
    name varchar(765) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PRIMARY KEY,
    version bigint NOT NULL,
    state mediumtext CHARACTER SET ascii NOT NULL
) ENGINE = InnoDB
