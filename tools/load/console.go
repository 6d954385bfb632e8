package main

import (
	"context"

	"github.com/respawnd/respawnd/webservices/nas"
)

// console is a console of Nintendo that signs in again and again.
type console struct {
	client nas.Client
	login  nas.Form
}

// openConsole opens a console that has an account.
func openConsole(ctx context.Context, w *world, _ int) (user, error) {
	c := &console{client: nas.Client{Address: w.daemon.at("webservices").String()}}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var err error
	if c.login, err = c.client.Make(ctx, "RMCJ"); err != nil {
		return nil, err
	}
	return c, c.do(ctx)
}

// do is a connection with a sign-in.
func (c *console) do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, _, err := c.client.SignIn(ctx, c.login)
	return err
}

func (c *console) close(bool) {}
