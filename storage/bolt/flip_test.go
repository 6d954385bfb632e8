package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage/engine"
)

// fullFile returns the content of a file with records and entries in many tables, among them
// 30 users.
func fullFile(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "respawnd.db")
	e, err := Open(t.Context(), path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	var errs []error
	for i := range 30 {
		errs = append(errs, e.Update(t.Context(), func(tx engine.Tx) error { return fill(tx, i) }))
	}
	if err := errors.Join(append(errs, e.Close())...); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// fill stores the data of one user.
func fill(tx engine.Tx, i int) (err error) {
	nick := fmt.Sprintf("nick%02d", i)
	for _, t := range []engine.Table{"games", "bans", "users", "profiles", "stat_blocks", "reports"} {
		key := []byte(nick)
		err = errors.Join(err, tx.Put(t, key, sealed(key, bytes.Repeat([]byte(nick), 50))))
	}
	for _, t := range []engine.Table{"users_by_email", "nicks", "found_by", "buddies", "ranks", "counts"} {
		key := []byte(nick + "\x00" + strings.Repeat("k", i))
		err = errors.Join(err, tx.Put(t, key, engine.Seal(key, key4(i))))
	}
	if i%10 == 0 { // beyond a page
		key := []byte("\x00c" + nick)
		err = errors.Join(err, tx.Put("servers", key, sealed(key, make([]byte, 20000))))
	}
	for _, t := range []engine.Table{"user_ids", "users", "audit"} {
		_, nextErr := tx.Next(t)
		err = errors.Join(err, nextErr)
	}
	return err
}

// reported is the answer to a question that gets an error.
const reported = "an error"

// answers asks an engine everything that fullFile put into it and returns the
// answers by question.
func answers(ctx context.Context, e *Engine) map[string]string {
	all, layout := make(map[string]string), testLayout()
	for _, t := range layout.Tables {
		var answer []string
		err := e.View(ctx, func(r engine.Reader) error {
			answer = nil
			for entry, err := range r.Scan(engine.Range{Table: t}) {
				if err == nil {
					_, err = layout.Check(t, entry.Key, entry.Value)
				}
				if err != nil {
					return err
				}
				answer = append(answer, fmt.Sprintf("%q: %q", entry.Key, entry.Value))
				found, err := r.Get(t, entry.Key)
				if err != nil {
					return err
				}
				if !bytes.Equal(found, entry.Value) {
					answer = append(answer, "not found by Get")
				}
			}
			n, err := r.Last(t)
			answer = append(answer, fmt.Sprint(n))
			return err
		})
		all[string(t)] = strings.Join(answer, "\n")
		if err != nil {
			all[string(t)] = reported
		}
	}
	for i := range 30 {
		nick := fmt.Sprintf("nick%02d", i)
		v, err := getRecord(e, "users", nick)
		all["user "+nick] = fmt.Sprintf("%q", v)
		if v == nil {
			all["user "+nick] = "not found"
		}
		if err != nil {
			all["user "+nick] = reported
		}
	}
	return all
}

// flipped opens a copy of a file in which one bit is another, and returns which
// wrong answer it gives without a word. With later, the file is checked after it is
// opened, and asked after that.
func flipped(t *testing.T, content []byte, bit int, later bool, ask func(context.Context, *Engine) map[string]string, want map[string]string) string {
	t.Helper()
	bad := bytes.Clone(content)
	bad[bit/8] ^= 1 << (bit % 8)
	path := writeFile(t, bad)
	defer func() { _ = os.Remove(path) }()
	var log bytes.Buffer
	opt := testOptions()
	opt.Log, opt.CheckLater, opt.atOpen = zerolog.New(zerolog.SyncWriter(&log)), later, 1
	e, err := Open(t.Context(), path, opt)
	if err != nil {
		return "" // refused
	}
	_ = e.check.wait(t.Context()) // the answers show its error
	got := ask(t.Context(), e)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), `"level":"error"`) {
		return "" // reported
	}
	for question, answer := range got {
		if answer != want[question] && answer != reported {
			return fmt.Sprintf("%s: %s, want %s", question, answer, want[question])
		}
	}
	return ""
}

// flipStep is the distance of the bits that are changed: a prime, so that every bit
// of a byte and every part of a page is among them. FLIP_STEP=1 changes each; CI takes
// smaller steps than the defaults.
func flipStep() int {
	n, err := strconv.Atoi(os.Getenv("FLIP_STEP"))
	switch {
	case err == nil && n > 0:
		return n
	case racetest.RaceDetector:
		return 49999
	}
	return 9973
}

// A file with one bit changed is refused, reports the records that it cannot read, or
// is right.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("opens a file for every bit")
	}
	flipBits(t, fullFile(t), flipStep(), answers)
}

// flipBits changes bits of a file at some distance from each other, and wants the answers
// of the file.
func flipBits(t *testing.T, content []byte, step int, ask func(context.Context, *Engine) map[string]string) {
	t.Helper()
	e, err := Open(t.Context(), writeFile(t, content), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := ask(t.Context(), e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for question, answer := range want {
		if answer == reported || answer == "" || strings.Contains(answer, "not found") {
			t.Fatalf("%s: %s before any damage", question, answer)
		}
	}
	for bit := 0; bit < 8*len(content); bit += step {
		for _, later := range []bool{false, true} {
			if wrong := flipped(t, content, bit, later, ask, want); wrong != "" {
				t.Errorf("bit %d of byte %d (page %d, offset %d; checked later: %t): %s", bit%8, bit/8, bit/8/os.Getpagesize(), bit/8%os.Getpagesize(), later, wrong)
			}
		}
	}
}
