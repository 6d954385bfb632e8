package lists

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/master/saved"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

// sealed puts the head that every value of the store has before a payload:
// version and checksum.
func sealed(payload []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{1}, crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli)))
	return append(b, payload...)
}

// savedRecord is a chunk with one record.
func savedRecord(t *testing.T, s storage.Server) []byte {
	t.Helper()
	doc, err := json.Marshal(s)
	rig.Must(t, err)
	return sealed(append(binary.AppendUvarint(nil, uint64(len(doc))), doc...))
}

// headKey is the key of the head of the saved list.
const headKey = "\x00h"

// editList changes the saved server list in a store that is not open: f gets the table of
// the list, its head, and its first chunk with the key of that.
func editList(t *testing.T, path string, f func(servers *bbolt.Bucket, head, first, chunk []byte) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	rig.Must(t, err)
	rig.Must(t, db.Update(func(tx *bbolt.Tx) error {
		servers := tx.Bucket([]byte("servers"))
		first, chunk := servers.Cursor().First()
		return f(servers, bytes.Clone(servers.Get([]byte(headKey))), bytes.Clone(first), bytes.Clone(chunk))
	}))
	rig.Must(t, db.Close())
}

// With any damage to the saved server list, the daemon starts, logs the loss in
// one line, lists the intact servers, saves a new list and keeps all other
// data.
func TestDamagedServerListIsSaidAndDropped(t *testing.T) {
	t.Parallel()
	origin := t.TempDir()
	d := rig.Start(t, origin)
	if rig.NewUser(t.Context(), d.Address["gpsp"], "stays") == "" {
		t.Fatal("no account")
	}
	listed := rig.Register(t, d, "hostname", "Stays")
	d.Stop()
	good := rig.ReadFile(t, filepath.Join(origin, daemon.StoreName))
	type edit = func(servers *bbolt.Bucket, head, first, chunk []byte) error
	chunk := func(change func(chunk []byte) []byte) edit {
		return func(servers *bbolt.Bucket, _, first, chunk []byte) error { return servers.Put(first, change(chunk)) }
	}
	head := func(change func(head []byte) []byte) edit {
		return func(servers *bbolt.Bucket, head, _, _ []byte) error {
			return servers.Put([]byte(headKey), change(head))
		}
	}
	record := func(change func(*storage.Server)) edit {
		s := storage.Server{
			Source: netip.MustParseAddrPort("192.0.2.1:6500"), Public: netip.MustParseAddrPort("192.0.2.1:6500"),
			Game: rig.TestGame, Origin: qr2.Origin.String(), First: time.Now(), Seen: time.Now(),
		}
		change(&s)
		return func(servers *bbolt.Bucket, _, first, _ []byte) error {
			// A list of an older version has no index, so the record counts.
			return errors.Join(servers.Put([]byte(headKey), sealed([]byte(`{"generation":1,"chunks":1}`))), servers.Put(first, savedRecord(t, s)))
		}
	}
	cases := map[string]edit{
		"empty head":           head(func([]byte) []byte { return nil }),
		"head of noise":        head(func([]byte) []byte { return []byte("noise of some length") }),
		"head of another form": head(func(b []byte) []byte { b[0]++; return b }),
		"head cut in half":     head(func(b []byte) []byte { return b[:len(b)/2] }),
		"another generation":   head(func([]byte) []byte { return sealed([]byte(`{"generation":77,"chunks":1}`)) }),
		"more chunks than any": head(func([]byte) []byte {
			return sealed([]byte(`{"segments":[{"generation":1,"chunks":18446744073709551615}],"index":{"generation":2,"chunks":18446744073709551615,"servers":-1}}`))
		}),
		"no index": head(func([]byte) []byte {
			return sealed([]byte(`{"segments":[{"generation":1,"chunks":1}],"index":{"generation":77,"chunks":1}}`))
		}),
		"none but many chunks":  head(func([]byte) []byte { return sealed([]byte(`{"generation":77,"chunks":18446744073709551615}`)) }),
		"chunk of another form": chunk(func(b []byte) []byte { b[0]++; return b }),
		"length beyond the end": chunk(func([]byte) []byte { return sealed(binary.AppendUvarint(nil, math.MaxUint64)) }),
		"length beyond a number": chunk(func([]byte) []byte {
			return sealed(bytes.Repeat([]byte{0xff}, 20))
		}),
		"no chunk":           func(servers *bbolt.Bucket, _, first, _ []byte) error { return servers.Delete(first) },
		"no source":          record(func(s *storage.Server) { s.Source = netip.AddrPort{} }),
		"no address":         record(func(s *storage.Server) { s.Public = netip.AddrPort{} }),
		"no local address":   record(func(s *storage.Server) { s.Local = make([]netip.AddrPort, 3) }),
		"too many addresses": record(func(s *storage.Server) { s.Local = make([]netip.AddrPort, storage.MaxServerLocal+1) }),
		"a game of noise":    record(func(s *storage.Server) { s.Game = strings.Repeat("\x00", 1000) }),
		"too many rules":     record(func(s *storage.Server) { s.Rules = bytes.Repeat([]byte("a\x00b\x00"), storage.MaxServerSections) }),
	}
	cuts, flips := []int{0, 1, 4, 5, 6, 40}, []int{1, 5, 7, 60}
	if racetest.RaceDetector {
		cuts, flips = cuts[:1], flips[:1] // each starts a daemon
	}
	for _, n := range cuts {
		cases[fmt.Sprint("chunk cut to ", n)] = chunk(func(b []byte) []byte { return b[:n] })
	}
	for _, at := range flips {
		cases[fmt.Sprint("chunk with a bit flipped at ", at)] = chunk(func(b []byte) []byte { b[at] ^= 0x10; return b })
	}
	for name, edit := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, file := range rig.Names(t, origin) {
				rig.Must(t, os.WriteFile(filepath.Join(dir, file), []byte(rig.ReadFile(t, filepath.Join(origin, file))), 0o600))
			}
			rig.Must(t, os.WriteFile(filepath.Join(dir, daemon.StoreName), []byte(good), 0o600))
			editList(t, filepath.Join(dir, daemon.StoreName), edit)
			env := rig.OnlyEnv(dir, []string{"qr2", "admin"}, rig.Variable("master.restore_for", "1h")) // however long the other cases take
			d := rig.StartWithout(t, env)
			told := 0
			lines, _ := d.Log.Since(0)
			for _, e := range lines {
				if e.Text("message") == saved.LostServers {
					told++
				}
			}
			if told != 1 {
				t.Errorf("%d lines tell of the damage, want 1:\n%s", told, d.Log)
			}
			wantList(t, d, name == "more chunks than any", listed.Address())
			if out := d.Cli("account", "list"); !strings.Contains(out, "stays@example.com") {
				t.Errorf("the account is gone:\n%s", out)
			}
			comes := rig.Register(t, d, "hostname", "Comes")
			d.Stop() // which saves the list
			wantSaved(t, filepath.Join(dir, daemon.StoreName), comes.Address())
		})
	}
}

// wantSaved fails unless the list in a store that is not open can be read to its end
// and has the server.
func wantSaved(t *testing.T, path string, server netip.AddrPort) {
	t.Helper()
	store := storetest.File(t, path)
	found := false
	for s, err := range store.LoadServers(t.Context()) {
		if err != nil {
			t.Errorf("the saved list: %v", err)
		}
		found = found || s.Source == server
	}
	if !found {
		t.Errorf("the saved list lacks %v", server)
	}
	rig.Must(t, store.Close())
}

// wantList fails unless the list has that one server, or none.
func wantList(t *testing.T, d *rig.Running, has bool, server netip.AddrPort) {
	t.Helper()
	out := d.Cli("server", "list")
	if got := strings.Contains(out, server.String()); got != has || strings.Count(out, "\n") > 2 {
		t.Errorf("the list, which should have %v: %v:\n%s", server, has, out)
	}
}
