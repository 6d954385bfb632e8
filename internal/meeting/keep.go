package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/clock"
)

// saveEvery is the interval at which the counts are written.
const saveEvery = 5 * time.Minute

// maxFile is the size of the largest file that is read, in bytes. Real ones have a tenth
// of it.
const maxFile = 64 << 10

// File keeps the counts of a Recorder over a restart. They have no addresses.
type File struct {
	Path string
	Log  zerolog.Logger
}

// saved is the form of the file.
type saved struct {
	Since  time.Time    `json:"since"`
	Counts []savedCount `json:"counts"`
}

type savedCount struct {
	Routers [2]string `json:"routers"`
	Way     string    `json:"way"`
	Number  uint64    `json:"number"`
}

// Load adds the counts in the file. A file that is damaged is logged, and its counts are ignored.
func (k File) Load(r *Recorder) {
	if r == nil {
		return
	}
	f, err := os.Open(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = errors.Join(r.load(f), f.Close())
	}
	if err != nil {
		k.Log.Warn().Str("file", k.Path).Err(err).Msg("the numbers of negotiations are unreadable and start at 0")
	}
}

// Keep saves the counts from time to time, and once more when ctx ends. Nothing is
// written before there is something to write.
func (k File) Keep(ctx context.Context, r *Recorder) {
	var written uint64
	for on := true; on; {
		on = clock.Pause(ctx, saveEvery)
		now := r.total()
		if now == written {
			continue
		}
		if _, err := backup.Replace(k.Path, r.save); err != nil {
			k.Log.Warn().Str("file", k.Path).Err(err).Msg("the numbers of negotiations were not saved")
			continue
		}
		written = now
	}
}

// total returns the number of all outcomes.
func (r *Recorder) total() (n uint64) {
	for _, c := range r.Counts() {
		n += c.Number
	}
	return n
}

func (r *Recorder) save(w io.Writer) error {
	s := saved{Since: r.Since().UTC()}
	for _, c := range r.Counts() {
		s.Counts = append(s.Counts, savedCount{[2]string{c.KindA.String(), c.KindB.String()}, c.Way.String(), c.Number})
	}
	return json.NewEncoder(w).Encode(s)
}

// load adds the counts that save wrote. After an error nothing has changed.
func (r *Recorder) load(from io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return err
	}
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if len(data) > maxFile || len(s.Counts) > Kinds*Kinds*Ways {
		return errors.New("the file is too long")
	}
	var read [Kinds][Kinds][Ways]uint64
	for _, c := range s.Counts {
		a, b, way := kindOf(c.Routers[0]), kindOf(c.Routers[1]), wayOf(c.Way)
		if a == Kinds || b == Kinds || way == Ways {
			return fmt.Errorf("unknown kinds %q or way %q", c.Routers, c.Way)
		}
		read[min(a, b)][max(a, b)][way] += c.Number
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = s.Since
	for a := range read {
		for b := range read[a] {
			for w, n := range read[a][b] {
				r.counts[a][b][w] += n
			}
		}
	}
	return nil
}

// kindOf is the inverse of Kind.String; Kinds: there is none.
func kindOf(name string) Kind {
	k := Kind(0)
	for k < Kinds && k.String() != name {
		k++
	}
	return k
}

// wayOf is the inverse of Way.String; Ways: there is none.
func wayOf(name string) Way {
	w := Way(0)
	for w < Ways && w.String() != name {
		w++
	}
	return w
}

// Since returns when counting began, the zero time if nothing was counted.
func (r *Recorder) Since() time.Time {
	if r == nil {
		return time.Time{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since
}
