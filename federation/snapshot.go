package federation

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/snapshot"
	"github.com/respawnd/respawnd/web/api"
)

// snapshotForm is that of the folders that package snapshot writes.
var snapshotForm = configs.MasterForm{
	Protocol: "snapshot", Folder: true, Needs: []string{"key=KEY"}, Options: []string{"restore_for=24h"},
	Usual: configs.OtherMaster{RestoreFor: 24 * time.Hour},
}

var _ = configs.DeclareMaster(snapshotForm)

// fileTries is how often a snapshot is read whose files are replaced meanwhile.
const fileTries = 3

// Errors of a shelf.
var (
	errOlder  = errors.New("its list is older than the one before")
	errTooOld = errors.New("its list is too old")
)

// shelf reads a folder. It believes nothing there before the signature. The newest list is kept
// in the data folder: after a restart it is shown at once, and no older one is accepted.
type shelf struct {
	master *configs.OtherMaster
	dialer *dialer
	self   string // identity of this daemon
	kept   string // folder of the newest list
	key    ed25519.PublicKey
	made   time.Time // of the list that was read last
}

func newShelf(m *configs.OtherMaster, d *dialer, self, dataDir string) *shelf {
	key, _ := snapshot.ParsePublic(m.Key) // the entry was checked
	return &shelf{master: m, dialer: d, self: self, key: key, kept: filepath.Join(dataDir, "mirror", m.Key)}
}

// follow implements fetcher. There are no changes; before the first reading it tells the list
// that was kept.
func (k *shelf) follow(_ context.Context, s *source) {
	if !k.made.IsZero() {
		return
	}
	index, servers, err := snapshot.Kept(k.kept, k.key)
	now := time.Now()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		s.log.Warn().Err(err).Msg("the list that was kept cannot be read")
	case err == nil && k.accepts(index, now) == nil:
		if err := k.use(s, index, servers, s.live.Load().max, now); err != nil {
			s.log.Warn().Err(err).Msg("the list that was kept cannot be used whole")
		}
	}
}

func (*shelf) close() {}

// note implements fetcher.
func (*shelf) note(context.Context, *source) {}

// read reads the list. One that has not changed costs one request.
func (k *shelf) read(ctx context.Context, s *source, most int) (string, error) {
	for try := 1; ; try++ {
		result, err := k.once(ctx, s, most)
		if !errors.Is(err, snapshot.ErrFile) || try == fileTries {
			return result, err
		}
	}
}

// once reads the index, and the servers that belong to it.
func (k *shelf) once(ctx context.Context, s *source, most int) (string, error) {
	text, err := k.get(ctx, snapshot.IndexName, snapshot.MaxIndex)
	if err != nil {
		return resultRead, err
	}
	index, err := snapshot.Open(text, k.key)
	if err != nil {
		return resultRead, err
	}
	now := time.Now()
	if err := k.accepts(index, now); err != nil {
		return resultRead, err
	}
	if index.Made.Equal(k.made) {
		return resultUnchanged, nil
	}
	file := index.Files[index.Servers]
	if file.Size > snapshot.MaxServers {
		return resultRead, netclient.ErrTooLong
	}
	content, err := k.get(ctx, index.Servers, file.Size)
	if err == nil {
		err = file.Check(content)
	}
	if err != nil { // it may have been replaced since the index was read
		return resultRead, fmt.Errorf("%w: %w", snapshot.ErrFile, err)
	}
	if err = k.use(s, index, content, most, now); k.made.Equal(index.Made) {
		if err := snapshot.Keep(k.kept, text, index, content); err != nil {
			s.log.Warn().Err(err).Msg("the list of a snapshot is not kept for the next start")
		}
	}
	return resultRead, err
}

// accepts returns why the list of an index is not used.
func (k *shelf) accepts(index *snapshot.Index, now time.Time) error {
	switch {
	case index.Master == k.self && k.self != "":
		return errOwn
	case index.Made.Before(k.made):
		return errOlder
	case now.Sub(index.Made) > k.master.RestoreFor:
		return fmt.Errorf("%w: it was made at %s", errTooOld, index.Made.UTC().Format(time.RFC3339))
	}
	return nil
}

// use makes a list that of the master.
func (k *shelf) use(s *source, index *snapshot.Index, content []byte, most int, now time.Time) error {
	made := index.Made
	if made.After(now) { // the clocks differ
		made = now
	}
	err := k.tell(s, content, made, most)
	if err == nil || errors.Is(err, netclient.ErrTooLong) {
		k.made = index.Made
		s.table.dropOthers(s, now)
		s.table.Registry.SetMade(made)
		s.table.metrics.made.WithLabelValues(s.master.Name).Set(float64(index.Made.Unix()))
	}
	return err
}

// get returns a file of a size that it does not exceed.
func (k *shelf) get(ctx context.Context, name string, most int) (content []byte, err error) {
	base := k.master.Address + "/"
	if k.master.IsFolder() {
		base = "file:///"
	}
	err = page(ctx, k.master, k.dialer, base+name, most+1, func(r io.Reader) (err error) {
		content, err = io.ReadAll(r)
		return err
	})
	if errors.Is(err, netclient.ErrTooLong) {
		err = snapshot.ErrFile
	}
	return content, err
}

// tell tells all servers of a list that was made at a time.
func (k *shelf) tell(s *source, content []byte, made time.Time, most int) error {
	n := 0
	return api.ReadList(bytes.NewReader(content), func(r *api.Remote) error {
		if n++; n > most {
			return netclient.ErrTooLong
		}
		f, why := foundOf(r)
		if why != "" {
			s.refuse(why)
			return nil
		}
		f.game, f.report = r.Game, reportOf(r)
		f.report.made, f.report.lifetime = made, k.master.RestoreFor
		s.tell(f)
		return nil
	})
}
