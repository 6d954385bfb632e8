package gstats

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// benchSession returns a session of gmtest, without a socket, at which firstPlayer is
// authenticated.
func benchSession(tb testing.TB, f *fixture) *session {
	tb.Helper()
	x := f.server.newSession(netip.MustParseAddrPort("127.0.0.1:1"), time.Now(), func(time.Duration) {})
	auth := `\auth\\gamename\gmtest\response\` + Response("HA6zkS", x.challenge)
	for range 2 {
		r := parseRequest([]byte(auth))
		if err := x.handle(context.Background(), &r, time.Now()); err != nil {
			tb.Fatal(err)
		}
		auth = `\authp\\pid\100001\resp\` + Proof(testPassword, x.pch) + `\lid\1`
	}
	if !x.owner(firstPlayer) {
		tb.Fatal("not authenticated")
	}
	tb.Cleanup(x.end)
	return x
}

// Requests for data are answered without an allocation of the service.
func TestGetAllocations(t *testing.T) {
	f := build(t, nil)
	x := benchSession(t, f)
	id := blockOfTest(firstPlayer, 1, 0)
	f.book.blocks[id] = storage.StatBlock{StatBlockID: id, Data: make([]byte, 100), Modified: f.book.now}
	wire := []byte(sealed(`\getpd\\pid\100001\ptype\1\dindex\0\keys\\lid\7`))
	in := inbox{most: 1 << 16, buf: make([]byte, firstInbox)}
	now := time.Now()
	if n := testing.AllocsPerRun(100, func() {
		in.from, in.to = 0, copy(in.buf, wire)
		body, _ := in.next()
		r := parseRequest(body)
		x.out = x.out[:0]
		if err := x.handle(context.Background(), &r, now); err != nil || len(x.out) < 100 {
			t.Fatal(err, len(x.out))
		}
	}); n != 0 {
		t.Errorf("a request allocates %v times, want 0", n)
	}
}

func BenchmarkGet(b *testing.B) {
	f := build(b, nil)
	x := benchSession(b, f)
	id := blockOfTest(firstPlayer, 1, 0)
	f.book.blocks[id] = storage.StatBlock{StatBlockID: id, Data: make([]byte, 100), Modified: f.book.now}
	wire := []byte(sealed(`\getpd\\pid\100001\ptype\1\dindex\0\keys\\lid\7`))
	in := inbox{most: 1 << 16, buf: make([]byte, firstInbox)}
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		in.from, in.to = 0, copy(in.buf, wire)
		body, _ := in.next()
		r := parseRequest(body)
		x.out = x.out[:0]
		if err := x.handle(context.Background(), &r, now); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReport(b *testing.B) {
	f := build(b, nil)
	x := benchSession(b, f)
	body := `\updgame\\sesskey\1\connid\` + fmt.Sprint(x.key) + `\done\1\gamedata\`
	for i := range 64 {
		body += fmt.Sprintf("\x01player_%d\x01Player %d\x01score_%d\x01%d\x01pid_%d\x01%d", i, i, i, i*7, i, i+1)
	}
	x.server.live.Load().Reports, x.server.live.Load().reports = 1<<30, nil
	b.ReportAllocs()
	for b.Loop() {
		r := parseRequest([]byte(body))
		if err := x.handle(context.Background(), &r, time.Now()); err != nil {
			b.Fatal(err)
		}
		f.book.reports = f.book.reports[:0]
	}
}

// benchWriters is how many clients store data at a time.
const benchWriters = 64

// BenchmarkSetDurable stores blocks of 200 bytes from several connections at a time, and
// beside it the same bytes with bbolt alone.
func BenchmarkSetDurable(b *testing.B) {
	data := make([]byte, 200)
	b.Run("gstats", func(b *testing.B) {
		store, book := benchBook(b)
		f := start(b, func(o *Options) { o.Book, o.Writes, o.WritesBurst = book, 1e6, 1e6 })
		var clients []client
		var ids []storage.ProfileID
		for i := range benchWriters {
			ids = append(ids, benchProfile(b, store, i))
			c := f.game()
			if err := c.AuthenticatePlayer(b.Context(), ids[i], testPassword); err != nil {
				b.Fatal(err)
			}
			clients = append(clients, c)
		}
		concurrently(b, func(i, _ int) error {
			_, err := clients[i].Set(b.Context(), ids[i], 1, 0, false, data)
			return err
		})
	})
	b.Run("bbolt", func(b *testing.B) {
		db, err := bbolt.Open(filepath.Join(b.TempDir(), "bench.db"), 0o600, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		db.MaxBatchSize = benchWriters
		name := []byte("blocks")
		if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket(name); return err }); err != nil {
			b.Fatal(err)
		}
		concurrently(b, func(i, _ int) error {
			key := binary.BigEndian.AppendUint32([]byte("gmtest\x00"), uint32(i))
			return db.Batch(func(tx *bbolt.Tx) error { return tx.Bucket(name).Put(key, data) })
		})
	})
}

// concurrently calls do b.N times, from several goroutines.
func concurrently(b *testing.B, do func(goroutine, n int) error) {
	b.Helper()
	var wg sync.WaitGroup
	var next atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	for i := range benchWriters {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				if err := do(i, int(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// BenchmarkGetStored reads a block of a player with few or many blocks.
func BenchmarkGetStored(b *testing.B) {
	for _, blocks := range []int{1, 1000} {
		b.Run(fmt.Sprint(blocks), func(b *testing.B) {
			store, book := benchBook(b)
			f := build(b, func(o *Options) { o.Book = book })
			x := benchSession(b, f)
			id := benchProfile(b, store, 0)
			for i := range blocks {
				if _, err := book.Set(b.Context(), storage.StatBlockID{Game: "gmtest", Profile: id, Kind: 3, Index: int32(i)}, make([]byte, 200)); err != nil {
					b.Fatal(err)
				}
			}
			body := []byte(fmt.Sprintf(`\getpd\\pid\%d\ptype\3\dindex\%d\keys\\lid\7`, id, blocks/2))
			b.ReportAllocs()
			for b.Loop() {
				r := parseRequest(body)
				x.out = x.out[:0]
				if err := x.handle(b.Context(), &r, time.Now()); err != nil || len(x.out) < 200 {
					b.Fatal(err, len(x.out))
				}
			}
		})
	}
}

// benchBook returns a book over a store that syncs.
func benchBook(b *testing.B) (*records.Store, *stats.Book) {
	b.Helper()
	store := storetest.Synced(b)
	return store, stats.New(store, stats.Options{})
}

// benchProfile makes an account with a profile.
func benchProfile(b *testing.B, store *records.Store, i int) storage.ProfileID {
	b.Helper()
	_, p, err := store.CreateUser(b.Context(), storage.User{Email: fmt.Sprintf("p%d@example.com", i)}, storage.Profile{Nick: fmt.Sprintf("p%d", i)})
	if err != nil {
		b.Fatal(err)
	}
	return p.ID
}
