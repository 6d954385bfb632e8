package main

import (
	"context"

	"github.com/respawnd/respawnd/cdkey"
)

// checkedProduct is the product whose keys are checked.
const checkedProduct = 461

// keyChecker is a game server that asks for the CD key of one player again and
// again.
type keyChecker struct{ *cdkey.Client }

func openKeyChecker(ctx context.Context, w *world, _ int) (user, error) {
	c, err := cdkey.Dial(ctx, w.daemon.at("cdkey").String())
	if err != nil {
		return nil, err
	}
	return keyChecker{c}, nil
}

// do is one question and its answer: two datagrams.
func (k keyChecker) do(context.Context) error {
	by, _ := soon().Deadline()
	return k.Auth(checkedProduct, "AAAA-BBBB-CCCC-DDDD", by)
}

func (k keyChecker) close(bool) { _ = k.Close() }
