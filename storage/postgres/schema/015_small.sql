-- Small tables that operators fill. Each has a row that is locked while it
-- grows, so that its limit is exact.

CREATE TABLE table_sizes (
	name text COLLATE "C" PRIMARY KEY,
	rows bigint NOT NULL DEFAULT 0 CHECK (rows >= 0)
);
INSERT INTO table_sizes (name) VALUES ('motds'), ('patches'), ('product_keys'), ('chat_rules');

CREATE TABLE motds (
	game   text COLLATE "C" PRIMARY KEY,
	doc jsonb NOT NULL
);

CREATE TABLE patches (
	product bigint NOT NULL,
	version text COLLATE "C" NOT NULL,
	doc     jsonb NOT NULL,
	PRIMARY KEY (product, version)
);

CREATE TABLE product_keys (
	product bigint NOT NULL,
	hash    bytea NOT NULL,
	doc     jsonb NOT NULL,
	PRIMARY KEY (product, hash)
);

-- key orders rules as storage.ChatRuleKey.Compare does.
CREATE TABLE chat_rules (
	key bytea PRIMARY KEY,
	doc jsonb NOT NULL
);
