package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) roomCommand() *cobra.Command {
	return group("room", "Manage the group rooms of games", p.roomAdd(), p.roomList(), p.roomRemove())
}

func (p *program) roomAdd() *cobra.Command {
	var r storage.Room
	cmd := p.operatorCommand("add GAME NAME", "Add a group room to a game", cobra.ExactArgs(2),
		func(ctx context.Context, op operator.Operator, args []string) error {
			r.Game, r.Name = args[0], args[1]
			stored, err := op.PutRoom(ctx, r)
			return p.confirm(err, "room %d of %s: %s", stored.ID, stored.Game, printable(stored.Name))
		})
	cmd.Flags().Uint32Var(&r.ID, "id", 0, "number of the room, unique over all games (default: a free one)")
	cmd.Flags().IntVar(&r.MaxWaiting, "max", 100, "maximum number of players")
	return cmd
}

func (p *program) roomList() *cobra.Command {
	return p.operatorCommand("list [GAME]", "Show the group rooms that were added", cobra.MaximumNArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			list, err := op.Rooms(ctx, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return p.table("id\tgame\tmax\tname", rows(list, func(r storage.Room) []string {
				return []string{strconv.FormatUint(uint64(r.ID), 10), r.Game, strconv.Itoa(r.MaxWaiting), printable(r.Name)}
			}))
		})
}

func (p *program) roomRemove() *cobra.Command {
	var id uint64
	cmd := p.operatorCommand("remove ID", "Remove a group room that was added", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, _ []string) error {
			return p.confirm(op.DeleteRoom(ctx, uint32(id)), "removed room %d", id)
		})
	cmd.PreRunE = func(_ *cobra.Command, args []string) (err error) {
		if id, err = strconv.ParseUint(args[0], 10, 32); err != nil {
			return usageError{err}
		}
		return nil
	}
	return cmd
}
