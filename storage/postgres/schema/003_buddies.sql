-- Relations between profiles, and messages that wait for them.

CREATE TABLE buddies (
	owner int NOT NULL REFERENCES profiles ON DELETE CASCADE,
	other int NOT NULL REFERENCES profiles ON DELETE CASCADE,
	PRIMARY KEY (owner, other)
);
CREATE INDEX buddies_of ON buddies (other, owner);

CREATE TABLE blocks (
	owner int NOT NULL REFERENCES profiles ON DELETE CASCADE,
	other int NOT NULL REFERENCES profiles ON DELETE CASCADE,
	PRIMARY KEY (owner, other)
);
CREATE INDEX blocks_of ON blocks (other, owner);

CREATE TABLE requests (
	recipient int    NOT NULL REFERENCES profiles ON DELETE CASCADE,
	sender    int    NOT NULL REFERENCES profiles ON DELETE CASCADE,
	expires   bigint NOT NULL, -- nanoseconds since 1970
	doc       jsonb  NOT NULL,
	PRIMARY KEY (recipient, sender)
);
CREATE INDEX requests_from ON requests (sender, recipient);
CREATE INDEX requests_expire ON requests (expires);

-- The numbers of messages rise with time in each mailbox, because they are given
-- out under the lock of its profile. The sender may have been deleted.
CREATE SEQUENCE message_ids AS bigint;

CREATE TABLE messages (
	recipient int    NOT NULL REFERENCES profiles ON DELETE CASCADE,
	id        bigint NOT NULL,
	sender    bigint NOT NULL,
	size      int    NOT NULL, -- of the text in bytes
	expires   bigint NOT NULL, -- nanoseconds since 1970
	doc       jsonb  NOT NULL,
	PRIMARY KEY (recipient, id)
);
CREATE INDEX messages_expire ON messages (expires);
