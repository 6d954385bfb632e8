-- What operators set: games, rooms, bans, single servers.

CREATE TABLE games (
	name text   COLLATE "C" PRIMARY KEY,
	rev  bigint NOT NULL,
	doc  jsonb  NOT NULL
);

-- Numbers of rooms that an operator does not choose, from
-- storage.FirstFreeRoomID on.
CREATE SEQUENCE room_ids AS int MINVALUE 100000 CYCLE;

CREATE TABLE rooms (
	id   int    PRIMARY KEY,
	game text   COLLATE "C" NOT NULL,
	rev  bigint NOT NULL,
	doc  jsonb  NOT NULL
);
CREATE INDEX rooms_of ON rooms (game, id);

CREATE TABLE bans (
	prefix  cidr     NOT NULL,
	scope   smallint NOT NULL,
	expires bigint   NOT NULL, -- nanoseconds since 1970; the highest number: never
	doc     jsonb    NOT NULL,
	PRIMARY KEY (prefix, scope)
);
CREATE INDEX bans_expire ON bans (expires);

CREATE TABLE added_servers (
	address text  COLLATE "C" PRIMARY KEY,
	doc     jsonb NOT NULL
);

CREATE TABLE hidden_servers (
	address text  COLLATE "C" PRIMARY KEY,
	doc     jsonb NOT NULL
);
