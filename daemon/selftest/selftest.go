// Package selftest runs the steps of the self-test against a running daemon:
// each one is a client of a service. The steps are those of the services, and
// some for accounts, which need several services.
//
// It knows no other protocol, and does not read the configuration.
package selftest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
)

// Game is the game that the self-test plays; it is in every catalogue.
const Game = "gmtest"

// Name returns a unique name for the game server of a run.
func Name() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never returns an error
	return "respawnd selftest " + hex.EncodeToString(random[:])
}

// Run runs the steps whose services are on, in their order, and calls say with
// one line per step: its name and result. quick leaves out lasting steps. It
// returns the number of failed steps; the error is that of say. It sets
// t.Registers and t.Remark, and closes t.Server. Its sockets have an address of self-tests,
// where the machine has such, so that its servers are shown to itself alone; see
// [master.Registry.Trials].
func Run(ctx context.Context, t *service.Trial, steps []service.Step, quick bool, say func(step, result string) error) (failed int, err error) {
	defer func() {
		if t.Server != nil {
			_ = t.Server.Close() // it would expire anyway
		}
	}()
	if from, err := netclient.From(ctx, master.TrialAddr()); err == nil {
		ctx = from
	}
	on := func(s service.Step) bool {
		return !slices.ContainsFunc(s.Needs, func(name string) bool { return t.Address(name) == "" })
	}
	t.Registers = slices.ContainsFunc(steps, func(s service.Step) bool { return s.Order == service.OrderRegister && on(s) })
	steps = slices.DeleteFunc(slices.Clone(steps), func(s service.Step) bool {
		return quick && s.Lasting || s.Server && !t.Registers || !on(s)
	})
	slices.SortStableFunc(steps, func(a, b service.Step) int { return cmp.Compare(a.Order, b.Order) })
	for _, s := range steps {
		result := "ok"
		t.Remark = func(text string) { result += ", but " + text }
		if err := s.Run(ctx, t); err != nil {
			failed++
			result = "FAILED: " + strings.ReplaceAll(err.Error(), "\n", ": ")
		}
		if err := say(s.Name, result); err != nil {
			return failed, err
		}
	}
	return failed, nil
}
