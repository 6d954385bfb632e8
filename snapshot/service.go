package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/respawnd/respawnd/internal/service"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	d := service.Descriptor{Stage: service.StageSearch, Docs: []string{"operators/mirror"}}
	if c.Dir != "" {
		d.Switch = "snapshot.dir"
		d.Files = func(dataDir string) map[string]string {
			return map[string]string{KeyFile: filepath.Join(dataDir, KeyFile)}
		}
	}
	return d
}

// Open opens the folder. It implements service.Service.
func (c *Config) Open(_ context.Context, e *service.Env) (*service.Running, error) {
	key, err := LoadKey(e.DataDir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil { //nolint:gosec // web servers of other users read it
		return nil, &service.KeyError{Key: "snapshot.dir", Err: err}
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, &service.KeyError{Key: "snapshot.dir", Err: err}
	}
	w := newWriter(root, key, e.Master, e.Opened, e.Registerer)
	return &service.Running{
		Address: where(c.Dir), Close: root.Close,
		Serve: func(ctx context.Context) error { w.run(ctx, e, c.Every); return nil },
	}, nil
}

// where is the folder as the address of the service.
type where string

// String implements fmt.Stringer.
func (w where) String() string { return string(w) }

// run writes the folder regularly until ctx ends. The first time is after an interval, as a list
// that has just begun is not whole.
func (w *writer) run(ctx context.Context, e *service.Env, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := w.write(time.Now())
		if err != nil && !failed {
			e.Log.Error().Err(err).Msg("snapshot not written")
		}
		failed = err != nil
	}
}
