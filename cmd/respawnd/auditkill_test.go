package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/storage"
)

// A change that was acknowledged is in the audit log after a crash, and the log
// tells of no change that did not happen.
func TestAuditLogSurvivesAKillWithItsChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	next := 0
	const rounds = 3
	for range rounds {
		c := startChild(t, dir)
		token, err := admin.ReadToken(filepath.Join(dir, "admin.token"))
		if err != nil {
			t.Fatal(err)
		}
		op, err := admin.NewClient(c.address["admin"].String(), token)
		if err != nil {
			t.Fatal(err)
		}
		acks := make(chan string)
		var storm sync.WaitGroup
		for range 4 {
			first := next
			next += 1000
			storm.Go(func() {
				for n := first; ; n++ {
					prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 32)
					ctx, cancel := context.WithTimeout(t.Context(), hang)
					err := op.AddBan(ctx, storage.Ban{Prefix: prefix, Scope: storage.ScopeAll, Added: time.Now()})
					cancel()
					if err != nil {
						return
					}
					acks <- prefix.String()
				}
			})
		}
		go func() { storm.Wait(); close(acks) }()
		left := 5 + rand.IntN(30)
		for prefix := range acks {
			acknowledged[prefix] = true
			if left--; left == 0 {
				_ = c.process.Kill() // others are under way
			}
		}
		c.kill()
	}
	env := testEnv(dir)
	noted := map[string]bool{}
	for _, e := range auditEntries(t, cli(t, env, "audit", "--json", "--limit", "0")) {
		subject := strings.TrimSuffix(e.Subject, " (all)")
		if noted[subject] {
			t.Errorf("%s is in the audit log twice", subject)
		}
		noted[subject] = true
	}
	banned := map[string]bool{}
	for line := range strings.Lines(cli(t, env, "ban", "list")) {
		if fields := strings.Fields(line); strings.Contains(fields[0], "/") {
			banned[fields[0]] = true
		}
	}
	for prefix := range acknowledged {
		if !banned[prefix] || !noted[prefix] {
			t.Errorf("ban of %s was acknowledged: in force %v, in the audit log %v", prefix, banned[prefix], noted[prefix])
		}
	}
	if fmt.Sprint(banned) != fmt.Sprint(noted) {
		t.Errorf("%d bans and %d entries after the kills: bans %v, entries %v", len(banned), len(noted), banned, noted)
	}
	if len(acknowledged) < rounds {
		t.Errorf("only %d bans were acknowledged", len(acknowledged))
	}
}
