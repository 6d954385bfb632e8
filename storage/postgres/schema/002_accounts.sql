-- Users and profiles. Keys are folded (storage.Fold); those that may be in any
-- code page are bytea.

CREATE SEQUENCE user_ids AS int;
CREATE SEQUENCE profile_ids AS int;

CREATE TABLE users (
	id      int    PRIMARY KEY,
	partner int    NOT NULL,
	email   text   COLLATE "C" NOT NULL,
	rev     bigint NOT NULL,
	doc     jsonb  NOT NULL,
	CONSTRAINT users_email UNIQUE (partner, email)
);

CREATE TABLE profiles (
	id         int    PRIMARY KEY,
	user_id    int    NOT NULL REFERENCES users ON DELETE CASCADE,
	nick       bytea  NOT NULL,
	first_name bytea  NOT NULL,
	last_name  bytea  NOT NULL,
	icq        int    NOT NULL,
	rev        bigint NOT NULL,
	doc        jsonb  NOT NULL,
	CONSTRAINT profiles_nick UNIQUE (user_id, nick)
);

-- The indexes of FindProfiles.
CREATE INDEX profiles_by_nick ON profiles (nick, id);
CREATE INDEX profiles_by_first_name ON profiles (first_name, id) WHERE first_name <> '';
CREATE INDEX profiles_by_last_name ON profiles (last_name, id) WHERE last_name <> '';
CREATE INDEX profiles_by_icq ON profiles (icq, id) WHERE icq <> 0;

CREATE TABLE uniquenicks (
	namespace int   NOT NULL,
	key       bytea NOT NULL,
	profile   int   NOT NULL REFERENCES profiles ON DELETE CASCADE,
	PRIMARY KEY (namespace, key)
);
CREATE INDEX uniquenicks_of ON uniquenicks (profile);
CREATE INDEX uniquenicks_by_key ON uniquenicks (key, namespace);

-- Both the digest and the hash of a CD key.
CREATE TABLE cdkeys (
	game    text COLLATE "C" NOT NULL,
	digest  text COLLATE "C" NOT NULL,
	profile int  NOT NULL REFERENCES profiles ON DELETE CASCADE,
	PRIMARY KEY (game, digest)
);
CREATE INDEX cdkeys_of ON cdkeys (profile);
