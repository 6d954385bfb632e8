package main

import (
	"context"
	"path/filepath"

	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
)

// matchPlayer reports matches again and again.
type matchPlayer struct {
	client webservices.Client
	who    webservices.Player
}

// openMatchPlayer signs in player i, whose certificate is valid for all reports.
func openMatchPlayer(ctx context.Context, w *world, i int) (user, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	key, err := auth.ReadKey(filepath.Join(w.daemon.cmd.Dir, "data", auth.KeyName))
	if err != nil {
		return nil, err
	}
	p := &matchPlayer{client: webservices.Client{Address: w.daemon.at("webservices").String(), Host: game + ".auth.pubsvs.gamespy.com"}}
	p.who.Certificate, p.who.Proof, err = p.client.SignIn(ctx, key.Public(), w.players[i].nick, password)
	p.client.Host = game + ".comp.pubsvs.gamespy.com"
	return p, err
}

// do is a match: three connections, with a session, an intention and a report, whose answer
// means that the result is on the disk.
func (p *matchPlayer) do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := p.client.ReportAlone(func() context.Context { return ctx }, p.who)
	return err
}

func (p *matchPlayer) close(bool) {}
