package history

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// TestKillLosesAtMostOneSave reads the file as a daemon would after a kill at any
// moment: it lacks only the points after the last save.
func TestKillLosesAtMostOneSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := File{Path: filepath.Join(t.TempDir(), "players"), Log: zerolog.Nop()}
		b := file.Load()
		if b.Usage().File != 0 {
			t.Errorf("a file of %d bytes before the first save", b.Usage().File)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); file.Keep(ctx, b) }()
		begin := time.Now()
		for i := range 20 {
			sample(b, time.Now(), map[Key]int{key(1): i})
			time.Sleep(Interval)
			synctest.Wait()
			after := file.Load() // of the killed daemon
			got, ok := after.Of(key(1), Day)
			if passed := time.Since(begin); ok != (passed >= saveEvery) {
				t.Fatalf("after %v: the file has a history: %t", passed, ok)
			}
			if lost := time.Since(got.End()); ok && (lost > saveEvery || after.Usage().File == 0) {
				t.Fatalf("after %d samples %v are lost, want at most %v", i+1, lost, saveEvery)
			}
		}
		sample(b, time.Now(), map[Key]int{key(1): 99})
		cancel()
		<-done
		got, _ := file.Load().Of(key(1), Day)
		if len(got.Players) != 21 || got.Players[20] != 99 {
			t.Errorf("after a stop: got %v, want all samples", got.Players)
		}
		if info, err := os.Stat(file.Path); err != nil || info.Size() != b.Usage().File {
			t.Errorf("the file has %v bytes, %v; reported as %d", info, err, b.Usage().File)
		}
	})
}
