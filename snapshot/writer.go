package snapshot

import (
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/service"
)

type writer struct {
	root   *os.Root
	key    ed25519.PrivateKey
	master string
	opened func() []service.Opened
	made   prometheus.Gauge // time of the snapshot that the folder has
	last   map[string]File  // that the folder has
}

// newWriter returns a writer that continues the snapshot which the folder has from before, if it is
// of this key.
func newWriter(root *os.Root, key ed25519.PrivateKey, master string, opened func() []service.Opened, reg prometheus.Registerer) *writer {
	w := &writer{root: root, key: key, master: master, opened: opened, made: metric.With(reg).Gauge(
		"respawnd_snapshot_last_success_timestamp_seconds", "When the snapshot in the folder was made, Unix time; 0: there is none.",
	)}
	text, err := root.ReadFile(IndexName)
	if err != nil {
		return w
	}
	if i, err := Open(text, key.Public().(ed25519.PublicKey)); err == nil {
		w.last = i.Files
		w.made.Set(float64(i.Made.Unix()))
	}
	return w
}

// write writes a snapshot: the files that have changed, then the index, and removes the files
// that are no longer in it.
func (w *writer) write(now time.Time) error {
	index := Index{Made: now.UTC().Truncate(time.Second), Master: w.master, Files: make(map[string]File)}
	var errs []error
	var put func(name string, content []byte)
	put = func(name string, content []byte) {
		if !isName(name) {
			return
		}
		f := FileOf(content)
		if w.last[name] != f {
			if err := w.replace(name, content); err != nil {
				errs = append(errs, err)
				return
			}
		}
		index.Files[name] = f
		if name == ServersName {
			index.Servers = "servers-" + f.SHA256[:16] + ".json"
			put(index.Servers, content)
		}
	}
	for _, s := range w.opened() {
		if s.Files != nil {
			s.Files(put)
		}
	}
	text, err := index.Seal(w.key)
	if err == nil {
		err = w.replace(IndexName, text)
	}
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for name := range w.last {
		if _, stays := index.Files[name]; !stays {
			if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	w.last = index.Files
	w.made.Set(float64(index.Made.Unix()))
	return errors.Join(errs...)
}

// replace writes a file under another name, which then becomes its own.
func (w *writer) replace(name string, content []byte) error {
	if err := w.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	const tmp = "new.tmp" // one name, so that a crash leaves no more than this
	if err := w.root.WriteFile(tmp, content, 0o644); err != nil {
		return err
	}
	return w.root.Rename(tmp, name)
}

// isName reports whether a name is that of a file on every system and in every URL. Names of
// games that come from servers may be anything.
func isName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
	return len(name) <= 200 && strings.Trim(name, letters) == "" && fs.ValidPath(name) && !strings.HasSuffix(name, ".tmp") && !strings.Contains(name, "/.")
}
