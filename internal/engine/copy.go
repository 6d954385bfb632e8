package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
	"github.com/respawnd/respawnd/storage/copying"
	tables "github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/postgres"
	"github.com/respawnd/respawnd/storage/records"
)

// An Endpoint is a store that can be copied or copied to.
type Endpoint struct {
	file string // of a bolt store; "": a database
	url  string
	key  string // that names the database, or the argument that does; for errors
	conf PostgresConfig
}

// Folder returns the folder in which the contents of players' files are beside the store,
// given the data folder of the configuration. A database holds them itself.
func (e Endpoint) Folder(dataDir string) string {
	if e.file == "" {
		return dataDir
	}
	return filepath.Dir(e.file)
}

// ParseEndpoint parses the name of a store: bolt:PATH, where the path may be that of the
// data folder, or postgres:URL. bolt alone is the file in the data folder, postgres alone
// the database of the configuration. Errors do not quote the URL.
func ParseEndpoint(text, dataDir string, c Config) (e Endpoint, err error) {
	word, rest, _ := strings.Cut(text, ":")
	switch {
	case word == Bolt:
		e.file = rest
		if rest == "" {
			e.file = filepath.Join(dataDir, FileName)
		} else if info, err := os.Stat(rest); err == nil && info.IsDir() {
			e.file = filepath.Join(rest, FileName)
		}
		e.file, err = filepath.Abs(e.file)
		return e, err
	case text == Postgres:
		e.key, e.conf = c.Postgres.key(), c.Postgres
		e.url, err = c.Postgres.url()
		return e, err
	case word == Postgres || word == "postgresql":
		e.key, e.conf, e.url = "URL", c.Postgres, rest
		if strings.HasPrefix(rest, "//") {
			e.url = text
		}
		if err := configs.CheckPostgresURL(e.url); err != nil {
			return e, fmt.Errorf("the URL %w", err)
		}
		return e, nil
	}
	return e, errors.New("write bolt, bolt:PATH, postgres or postgres:URL")
}

// String names the store without a password.
func (e Endpoint) String() string {
	if e.file != "" {
		return "bolt:" + e.file
	}
	c, err := pgx.ParseConfig(e.url)
	if err != nil {
		return Postgres
	}
	return fmt.Sprintf("postgres:%s at %s:%d", c.Database, c.Host, c.Port)
}

// Key returns the key of the configuration that names the database.
func (e Endpoint) Key() string { return e.key }

// Side is an open store of a copy.
type Side struct {
	storage.Store

	tables tables.Engine
}

// Size returns how many bytes a copy of the side has. It reads them.
func (s *Side) Size(ctx context.Context) (int64, error) {
	return copying.Size(ctx, s.tables, records.CopiedTables())
}

// Copy copies one side to the other, which is empty or has a part of the same copy.
// Damaged entries are reported and left out.
func Copy(ctx context.Context, from, to *Side, opt copying.Options) (copying.Result, error) {
	return copyTables(ctx, from.tables, to.tables, opt)
}

func copyTables(ctx context.Context, from, to tables.Engine, opt copying.Options) (copying.Result, error) {
	opt.Tables, opt.Check = records.CopiedTables(), records.Layout().Check
	return copying.Copy(ctx, from, to, opt)
}

// Open opens the store for a copy. Nothing else may use it: the error says so if a
// daemon does. A file that is to be read must exist.
func (e Endpoint) Open(ctx context.Context, read bool, log zerolog.Logger) (*Side, error) {
	if e.file != "" {
		return e.openFile(ctx, read, log)
	}
	db, err := postgres.Open(ctx, e.url, postgres.Options{
		Program: "storage copy", MaxConns: e.conf.MaxConns, StatementTimeout: max(e.conf.StatementTimeout, time.Minute), Log: log,
		Layout: records.Layout(), Strict: records.Strict(),
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.key, err)
	}
	daemons, err := stopped(ctx, db)
	if err == nil && len(daemons) > 0 {
		err = fmt.Errorf("%s is in use by %s: stop the daemons first", e, strings.Join(daemons, ", "))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Side{records.NewShared(db, "", log), db}, nil
}

// PostgreSQL notices a while after a daemon stopped that its connections are closed.
const (
	stopWait  = 3 * time.Second
	stopEvery = 50 * time.Millisecond
)

// stopped waits until no daemon uses a database, and returns those that still do.
func stopped(ctx context.Context, db *postgres.Engine) (daemons []string, err error) {
	for began := time.Now(); ; {
		daemons, err = db.Daemons(ctx)
		if err != nil || len(daemons) == 0 || time.Since(began) > stopWait {
			return daemons, err
		}
		if !clock.Pause(ctx, stopEvery) {
			return nil, ctx.Err()
		}
	}
}

func (e Endpoint) openFile(ctx context.Context, read bool, log zerolog.Logger) (*Side, error) {
	if _, err := os.Stat(e.file); read && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist", e.file)
	}
	if err := os.MkdirAll(filepath.Dir(e.file), 0o700); err != nil {
		return nil, err
	}
	file, err := bolt.Open(ctx, e.file, bolt.Options{Layout: records.Layout(), Log: log})
	if errors.Is(err, bolt.ErrInUse) {
		return nil, fmt.Errorf("stop the daemon first: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return &Side{records.New(file, records.Options{Log: log}), file}, nil
}
