package main

import (
	"context"

	"github.com/respawnd/respawnd/mangler"
)

// mangled is a player whose game asks how its port looks from outside, again and again.
type mangled struct{ *mangler.Client }

func openMangled(ctx context.Context, w *world, _ int) (user, error) {
	c, err := mangler.Dial(ctx, w.daemon.at("mangler").String())
	if err != nil {
		return nil, err
	}
	return mangled{c}, nil
}

// do is one question and its answer: two datagrams.
func (m mangled) do(context.Context) error {
	by, _ := soon().Deadline()
	_, err := m.Seen(by)
	return err
}

func (m mangled) close(bool) { _ = m.Close() }
