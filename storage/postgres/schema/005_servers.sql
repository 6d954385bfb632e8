-- The saved server lists, one for each node. server_index is the list: parts of
-- it in their order, with the times of the last reports, which change with every
-- save. server_records has the rest of each server, and also some that are no
-- longer listed, until a compaction.

CREATE TABLE server_lists (
	node    text COLLATE "C" PRIMARY KEY,
	saved   bigint NOT NULL, -- nanoseconds since 1970
	saves   bigint NOT NULL, -- number of the last save
	servers bigint NOT NULL
);

CREATE TABLE server_index (
	node    text     COLLATE "C" NOT NULL,
	part    int      NOT NULL,
	sources text[]   COLLATE "C" NOT NULL,
	seen    bigint[] NOT NULL, -- nanoseconds since 1970; the lowest number: never
	PRIMARY KEY (node, part)
);

CREATE TABLE server_records (
	node   text   COLLATE "C" NOT NULL,
	source text   COLLATE "C" NOT NULL,
	save   bigint NOT NULL, -- number of the save that wrote it
	doc    json   NOT NULL,
	PRIMARY KEY (node, source)
);
