package main

import (
	"bytes"
	"context"
	"strconv"

	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/storage"
)

// block is the data that games of the load store.
var block = bytes.Repeat([]byte("statistic "), 20)

// statsGame is a game whose player reads data on a connection of its own each time.
type statsGame struct {
	w *world
	i int
}

func openStatsGame(_ context.Context, w *world, i int) (user, error) { return &statsGame{w, i}, nil }

// do connects, authenticates the game and a player, and reads a block.
func (g *statsGame) do(ctx context.Context) error {
	c, id, err := dialStats(ctx, g.w, g.i)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, _, err = c.Get(ctx, id, int(storage.StatPrivateWrite), 0)
	return err
}

func (g *statsGame) close(bool) {}

// dialStats authenticates a game and player i.
func dialStats(ctx context.Context, w *world, i int) (*gstats.Client, storage.ProfileID, error) {
	player := w.players[i%len(w.players)]
	id, err := strconv.ParseUint(player.id, 10, 32)
	if err != nil {
		return nil, 0, err
	}
	conn, err := dialTCP(ctx, address(groupStats, i), w.daemon.at("gstats"))
	if err != nil {
		return nil, 0, err
	}
	c, err := gstats.Connect(soon(), conn)
	if err != nil {
		return nil, 0, err
	}
	if err = c.Authenticate(soon(), game, secret); err == nil {
		err = c.AuthenticatePlayer(soon(), storage.ProfileID(id), password)
	}
	if err != nil {
		_ = c.Close()
	}
	return c, storage.ProfileID(id), err
}

// statsWriter is a game that stores a block again and again.
type statsWriter struct {
	*gstats.Client
	id storage.ProfileID
}

func openStatsWriter(ctx context.Context, w *world, i int) (user, error) {
	c, id, err := dialStats(ctx, w, i)
	if err != nil {
		return nil, err
	}
	return statsWriter{c, id}, nil
}

// do stores a block.
func (s statsWriter) do(context.Context) error {
	_, err := s.Set(soon(), s.id, int(storage.StatPrivateWrite), 0, false, block)
	return err
}

func (s statsWriter) close(bool) { _ = s.Close() }
