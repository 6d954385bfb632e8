package meeting

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

func TestFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		k := File{filepath.Join(t.TempDir(), "outcomes"), zerolog.New(&log)}
		r := new(Recorder)
		k.Load(r)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.Keep(ctx, r); close(done) }()
		time.Sleep(saveEvery + time.Second)
		if _, err := os.Stat(k.Path); !os.IsNotExist(err) {
			t.Errorf("a file of nothing: %v", err)
		}
		r.Note(Outcome{KindA: Symmetric, KindB: Cone, Way: Relayed})
		time.Sleep(saveEvery)
		r.Note(Outcome{KindA: Cone, KindB: Symmetric, Way: Relayed})
		r.Note(Outcome{Way: Unreported})
		stop()
		<-done
		again := new(Recorder)
		k.Load(again)
		if diff := cmp.Diff(r.Counts(), again.Counts()); diff != "" || !again.Since().Equal(r.Since()) || r.Since().IsZero() {
			t.Errorf("since %v, then %v (-saved +read):\n%s", r.Since(), again.Since(), diff)
		}
		again.Note(Outcome{Way: Unreported})
		if got := again.Counts(); len(got) != 2 || got[0].Number != 2 {
			t.Errorf("after one more: %v", got)
		}
		if log.Len() > 0 {
			t.Errorf("logged %s", &log)
		}
	})
}

func TestDamagedFile(t *testing.T) {
	for name, text := range map[string]string{
		"empty":          "",
		"cut off":        `{"since":"2026-01-01T00:00:00Z","counts":[{"rou`,
		"another kind":   `{"counts":[{"routers":["cone","odd"],"way":"relayed","number":1}]}`,
		"another way":    `{"counts":[{"routers":["cone","cone"],"way":"by_post","number":1}]}`,
		"a number":       `{"counts":[{"routers":["cone","cone"],"way":"relayed","number":-1}]}`,
		"too many":       `{"counts":[` + strings.Repeat(`{"routers":["cone","cone"],"way":"relayed","number":1},`, Kinds*Kinds*Ways) + `{"routers":["cone","cone"],"way":"relayed","number":1}]}`,
		"too long":       `{"counts":[]}` + strings.Repeat(" ", maxFile),
		"something else": `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			k := File{filepath.Join(t.TempDir(), "outcomes"), zerolog.New(&log)}
			if err := os.WriteFile(k.Path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var r Recorder
			k.Load(&r)
			if got := r.Counts(); got != nil || !strings.Contains(log.String(), "unreadable") {
				t.Errorf("counts %v, logged %s", got, &log)
			}
		})
	}
	File{t.TempDir() + "/none", zerolog.Nop()}.Load(nil)
}
