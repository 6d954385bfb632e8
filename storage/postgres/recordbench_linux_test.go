package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// players is how many accounts sign in.
const players = 5000

// BenchmarkRecords measures accounts that are made, and sign-ins with their sign-outs as a
// daemon makes them, by as many workers as a daemon has connections, on a server that waits
// for the disk. Of both sides it reports the processor time.
func BenchmarkRecords(b *testing.B) {
	for name, kind := range map[string]func(b *testing.B, s records.Shared) func(n uint64) error{"account": accountsOf, "sign-in": signInsOf} {
		b.Run(name, func(b *testing.B) {
			server := pgtest.Durable(b)
			opt := recordOptions()
			opt.MaxConns = 16
			e := openAt(b, server.Database(b), opt)
			step := kind(b, records.Shared{Store: records.New(e, records.Options{Shared: true, Node: "a"})})
			workers(b, 100, step) // statements are prepared
			again := func() float64 { return retries(b, e, "changed") + retries(b, e, "deadlock") }
			retried, own, others := again(), ownTime(b), serverTime(b, server)
			b.ResetTimer()
			workers(b, b.N, step)
			b.StopTimer()
			n := float64(b.N)
			b.ReportMetric(n/b.Elapsed().Seconds(), name+"s/s")
			b.ReportMetric(100*(again()-retried)/n, "retries-%")
			b.ReportMetric(float64((ownTime(b)-own).Microseconds())/n, "client-us/op")
			b.ReportMetric(float64((serverTime(b, server)-others).Microseconds())/n, "server-us/op")
		})
	}
}

// workers calls step n times, by 16 workers.
func workers(b *testing.B, n int, step func(n uint64) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := step(uint64(i)); err != nil {
					b.Errorf("step %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// accountsOf makes accounts.
func accountsOf(_ *testing.B, s records.Shared) func(uint64) error {
	var made atomic.Uint64
	return func(uint64) error {
		name := fmt.Sprint("player", made.Add(1))
		_, _, err := s.CreateUser(context.Background(), storage.User{Email: name + "@example.com", Secret: make([]byte, 49)},
			storage.Profile{Nick: name, UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: name, Key: name}}})
		return err
	}
}

// signInsOf makes the accounts, and signs them in and out.
func signInsOf(b *testing.B, s records.Shared) func(uint64) error {
	b.Helper()
	workers(b, players, accountsOf(b, s))
	run, err := s.BeginRun(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	var ids atomic.Uint64
	return func(n uint64) error {
		p, _, err := s.ProfileByUniqueNick(context.Background(), 1, fmt.Sprint("player", 1+n%players))
		if err != nil {
			return err
		}
		id := ids.Add(1)
		if _, _, err := s.EnterSession(context.Background(), storage.LiveSession{Run: run, ID: id, Profile: p.ID, User: p.User}); err != nil {
			return err
		}
		return s.LeaveSessions(context.Background(), run, []uint64{id})
	}
}

// ownTime returns the processor time of this process.
func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverTime returns the processor time of a server's processes.
func serverTime(b *testing.B, server *pgtest.Server) (sum time.Duration) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(server.Dir(), "data", "postmaster.pid"))
	if err != nil {
		b.Fatal(err)
	}
	parent, _, _ := strings.Cut(string(text), "\n")
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	const tick = 10 * time.Millisecond
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 12 && f[1] == parent {
			user, _ := strconv.Atoi(f[11])
			system, _ := strconv.Atoi(f[12])
			sum += time.Duration(user+system) * tick
		}
	}
	return sum
}
