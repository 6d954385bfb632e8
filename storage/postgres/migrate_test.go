package postgres

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/pgtest"
)

func TestMigrationsAreNumbered(t *testing.T) {
	last := 0
	for _, m := range migrations() {
		if m.number <= last || m.sql == "" {
			t.Errorf("%s comes after number %d", m.name, last)
		}
		last = m.number
	}
	if last == 0 {
		t.Error("there are no migrations")
	}
}

func TestNodesStartAtOnce(t *testing.T) {
	url := pgtest.Database(t)
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			s, err := Open(t.Context(), url, testOptions())
			if err == nil {
				err = s.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("Open() of an empty database from several nodes at once = %v", err)
	}
	createUser(t, openAt(t, url, testOptions()), "a@b.c", "A")
}

func TestUpgrade(t *testing.T) {
	url := pgtest.Database(t)
	all := migrations()
	openWith := func(steps []migration) error {
		s, err := open(t.Context(), url, testOptions(), steps)
		if err == nil {
			err = s.Close()
		}
		return err
	}
	if err := openWith(all[:2]); err != nil {
		t.Fatalf("the first version: Open() = %v", err)
	}
	broken := append(slices.Clip(all), migration{999, "999_broken.sql", "CREATE TABLE more (); SELECT 1/0"})
	if err := openWith(broken); err == nil {
		t.Error("Open() with a migration that fails = nil")
	}
	if err := openWith(all[:2]); err != nil {
		t.Errorf("a migration that failed left something: Open() of the first version = %v", err)
	}
	slow := append(slices.Clip(all[:2]), migration{998, "998_settings.sql", `DO $$ BEGIN
		IF current_setting('idle_in_transaction_session_timeout')::interval < '30 s' THEN
			RAISE 'a slow machine does not finish its upgrade';
		END IF;
		RAISE 'as it should be';
	END $$`})
	if err := openWith(slow); err == nil || !strings.Contains(err.Error(), "as it should be") {
		t.Errorf("a slow upgrade: Open() = %v", err)
	}
	if err := openWith(all); err != nil {
		t.Errorf("the present version: Open() = %v", err)
	}
	if err := openWith(all[:2]); !errors.Is(err, ErrNewer) {
		t.Errorf("the first version after the upgrade: Open() = %v, want ErrNewer", err)
	}
	createUser(t, openAt(t, url, testOptions()), "a@b.c", "A")
}
