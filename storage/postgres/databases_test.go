package postgres

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// databases are databases that tests use one after the other, because emptying one
// is much quicker than creating one. The zero value is ready to use.
type databases struct {
	mu   sync.Mutex
	free []string // URLs
}

// take returns the URL of an empty database, which lasts as long as t.
func (d *databases) take(t *testing.T) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.free); n > 0 {
		url := d.free[n-1]
		d.free = d.free[:n-1]
		return url
	}
	url := emptyDatabase(t)
	runSQL(t, url, sqlRemember)
	return url
}

// put empties a database for the next test.
func (d *databases) put(t *testing.T, url string) {
	t.Helper()
	runSQL(t, url, sqlReset)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = append(d.free, url)
}

func runSQL(t testing.TB, url, sql string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// sqlRemember keeps a copy of the rows that the migrations insert.
const sqlRemember = `
CREATE SCHEMA kept;
DO $$ DECLARE name text; BEGIN
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
		EXECUTE format('CREATE TABLE kept.%1$I AS SELECT * FROM public.%1$I', name);
	END LOOP;
END $$`

// sqlReset brings all tables and sequences to the state of sqlRemember.
const sqlReset = `
SET session_replication_role = replica; -- no foreign keys
DO $$ DECLARE name text; BEGIN
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
		IF pg_relation_size(format('public.%I', name)) > 200000 THEN
			EXECUTE format('TRUNCATE public.%I CASCADE', name);
		ELSE
			EXECUTE format('DELETE FROM public.%I', name);
		END IF;
	END LOOP;
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
		EXECUTE format('INSERT INTO public.%1$I OVERRIDING SYSTEM VALUE SELECT * FROM kept.%1$I', name);
	END LOOP;
	FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' LOOP
		EXECUTE format('ALTER SEQUENCE public.%I RESTART', name);
	END LOOP;
END $$`
