package nwmaster

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nwn"
)

// HashOf returns the hash of a password and a salt in a BMPA.
func HashOf(password, salt string) string {
	digest := func(text string) string {
		sum := md5.Sum([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	return digest(digest(password) + salt)
}

// Host is a game server: it reports and answers questions from any address. Serve must
// run while the other methods are called.
type Host struct {
	*netclient.Reporter

	name  string
	rules nwn.Rules
}

// NewHost returns a host with a name and rules.
func NewHost(p *netclient.Packets, name string, rules nwn.Rules) *Host {
	return &Host{Reporter: netclient.NewReporter(p), name: name, rules: rules}
}

// Serve answers until the socket is closed.
func (h *Host) Serve() { h.Reporter.Serve(h.take) }

func (h *Host) take(p []byte, from netip.AddrPort) {
	switch kind, _, _ := nwn.Cut(p); kind {
	case nwn.AskRules:
		_ = h.Answer(h.rules.AppendTo(nil), from) // it may be lost, as elsewhere
		h.Asked()
	case nwn.AskName:
		_ = h.Answer(nwn.AppendName(nil, h.rules.Port, h.name), from)
	default:
	}
}

// Heartbeat reports a server with its module, and waits until it was asked.
func (h *Host) Heartbeat(ctx context.Context) error {
	return h.Report(ctx, nwn.AppendModule(nil, 0, string(h.rules.Module)))
}

// Leave says that the server stops and answers nothing from now on.
func (h *Host) Leave() error { return h.Reporter.Leave(nwn.AppendStop(nil, h.rules.Port)) }

// await waits for a message of a kind and passes its data on.
func await(ctx context.Context, p *netclient.Packets, want nwn.Kind, take func(rest []byte) error) error {
	return p.Await(ctx, func(b []byte, _ netip.AddrPort) (bool, error) {
		kind, rest, _ := nwn.Cut(b)
		if kind != want {
			return false, nil
		}
		return true, take(rest)
	})
}

// Status asks whether the master is there.
func Status(ctx context.Context, p *netclient.Packets) error {
	if err := p.Send(nwn.AppendStatus(nil, usualPort)); err != nil {
		return err
	}
	return await(ctx, p, nwn.StatusAnswer, func([]byte) error { return nil })
}

// SignIn asks, as a game of a player does, whether a name and password are good.
func SignIn(ctx context.Context, p *netclient.Packets, account, password string) (result nwn.Result, err error) {
	const salt = "saltsalt"
	c := nwn.AccountCheck{
		Port: 5120, Salt: []byte(salt), Account: []byte(account), Hash: []byte(HashOf(password, salt)), Platform: 'W', Role: firstPlayerRole,
	}
	if err := p.Send(c.AppendTo(nil)); err != nil {
		return 0, err
	}
	err = await(ctx, p, nwn.AccountAnswer, func(rest []byte) error {
		_, result, err = nwn.ParseAccountAnswer(rest)
		return err
	})
	return result, err
}

// CheckKeys asks, as a server does, whether the keys of a player are good.
func CheckKeys(ctx context.Context, p *netclient.Packets, c nwn.KeyCheck) (list []nwn.KeyResult, err error) {
	if err := p.Send(c.AppendTo(nil)); err != nil {
		return nil, err
	}
	err = await(ctx, p, nwn.KeysAnswer, func(rest []byte) error {
		list, err = nwn.ParseKeysAnswer(rest)
		return err
	})
	return list, err
}
