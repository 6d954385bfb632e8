package engine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/respawnd/respawnd/configs"
)

// The engines.
const (
	Bolt     = "bolt"
	Postgres = "postgres"
)

// Config is section storage of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Where everything that lasts is kept: {words}.
	//
	// bolt is a file in data_dir, for one machine. postgres is a PostgreSQL
	// database, which several machines can share. `respawnd storage copy` moves
	// everything from one to the other.
	Engine string `key:"engine" default:"bolt" words:"bolt, postgres"`
	// The database, if engine is postgres.
	Postgres PostgresConfig `key:"postgres"`
}

// PostgresConfig is section storage.postgres.
type PostgresConfig struct {
	// The database, such as postgres://USER:PASSWORD@db.example.org/respawnd, special
	// characters as in %40. PostgreSQL 15 or newer. Parameters such as
	// ?sslmode=verify-full can follow; ?host=/run/postgresql is a Unix socket. It
	// is never logged.
	URL string `key:"url" as:"postgresurl" secret:"true"`
	// File with the URL, in place of url.
	URLFile string `key:"url_file" as:"text"`
	// Most connections to the database at a time, {range}. 0: twice the
	// processors, at least 16.
	MaxConns int `key:"max_conns" default:"0" range:"0 to 10000"`
	// How long an operation may take, with its wait for a free connection, {range}.
	// After that it is refused.
	StatementTimeout time.Duration `key:"statement_timeout" default:"2s" range:"1s to 5m"`
	// How long a start waits for a database that does not answer, {range}.
	StartWait time.Duration `key:"start_wait" default:"30s" range:"0s to 10m"`
}

// maxURLFile is the size in bytes of the largest file with a URL.
const maxURLFile = 4 << 10

// Shared reports whether several daemons can use the store at the same time.
func (c *Config) Shared() bool { return c.Engine == Postgres }

// Check returns the mistakes that can be found without the database.
func (c *Config) Check() error {
	switch {
	case c.Postgres.URL != "" && c.Postgres.URLFile != "":
		return errors.New("storage.postgres.url_file: there is storage.postgres.url too; remove one of them")
	case !c.Shared():
		return nil
	}
	_, err := c.Postgres.url()
	return err
}

// Warnings returns settings that are allowed but rarely intended.
func (c *Config) Warnings() []string {
	if !c.Shared() && (c.Postgres.URL != "" || c.Postgres.URLFile != "") {
		return []string{"storage.postgres: it is not used, because storage.engine is " + c.Engine}
	}
	return nil
}

// key returns the key that names the database.
func (c *PostgresConfig) key() string {
	if c.URLFile != "" {
		return "storage.postgres.url_file"
	}
	return "storage.postgres.url"
}

// url returns the URL of the database. Errors name the key and quote no URL.
func (c *PostgresConfig) url() (string, error) {
	if c.URLFile == "" {
		if c.URL == "" {
			return "", errors.New("storage.postgres.url: is empty, but storage.engine is postgres: state the database here or in storage.postgres.url_file")
		}
		return c.URL, nil
	}
	info, err := os.Stat(c.URLFile)
	if err == nil && (info.IsDir() || info.Size() > maxURLFile) {
		err = fmt.Errorf("%s: not a file of at most %d bytes", c.URLFile, maxURLFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(c.URLFile)
	}
	if err != nil {
		return "", fmt.Errorf("storage.postgres.url_file: %w", err)
	}
	url := strings.TrimSpace(string(text))
	if err := configs.CheckPostgresURL(url); err != nil {
		return "", fmt.Errorf("storage.postgres.url_file: %s: the URL %w", c.URLFile, err)
	}
	return url, nil
}
