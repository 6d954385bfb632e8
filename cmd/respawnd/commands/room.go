package commands

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) roomCommand() *cobra.Command {
	return group("room", "Manage the group rooms of games", p.roomAdd(), p.roomList(), p.roomRemove(), p.roomOwner())
}

func (p *program) roomAdd() *cobra.Command {
	var r storage.Room
	var owners []string
	cmd := p.operatorCommand("add GAME NAME", "Add a group room to a game", cobra.ExactArgs(2),
		func(ctx context.Context, op operator.Operator, args []string) error {
			r.Game, r.Name = args[0], args[1]
			moderators, err := findOwners(ctx, op, r.Game, owners)
			if err != nil {
				return err
			}
			stored, err := op.PutRoom(ctx, r)
			for _, who := range moderators {
				if err == nil {
					err = addOwner(ctx, op, who.key(storage.ChatModerator, chatRoom{channel: operator.GroupChannel(stored.ID)}))
				}
			}
			return p.confirm(err, "room %d of %s: %s", stored.ID, stored.Game, printable(stored.Name))
		})
	cmd.Flags().Uint32Var(&r.ID, "id", 0, "number of the room, unique over all games (default: a free one)")
	cmd.Flags().IntVar(&r.MaxWaiting, "max", 100, "maximum number of players")
	cmd.Flags().StringArrayVar(&owners, "owner", nil, "unique nick of a player who moderates the room; may be given more than once")
	return cmd
}

// findOwners returns the players with unique nicks in the namespace of a game. They are
// looked up before the room is stored: a mistake leaves nothing behind.
func findOwners(ctx context.Context, op operator.Operator, game string, nicks []string) (out []chatPlayer, err error) {
	if len(nicks) == 0 {
		return nil, nil
	}
	title, err := parseRoom(ctx, op, game)
	if err != nil {
		return nil, err
	}
	for _, nick := range nicks {
		who, err := findAccount(ctx, op, nick, title.namespace)
		if err != nil {
			return nil, err
		}
		out = append(out, who)
	}
	return out, nil
}

func (p *program) roomList() *cobra.Command {
	return p.listCommand("list [GAME]", "Show the group rooms that were added", cobra.MaximumNArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			list, err := op.Rooms(ctx, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return show(p, "id\tgame…\tmax\tname…", list, func(r storage.Room) []string {
				return []string{strconv.FormatUint(uint64(r.ID), 10), r.Game, strconv.Itoa(r.MaxWaiting), r.Name}
			})
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
