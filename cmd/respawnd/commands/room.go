package commands

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) roomCommand() *cobra.Command {
	return group("room", "Manage the group rooms of games", p.roomAdd(), p.roomList(), p.roomRemove(), p.roomOwner())
}

func (p *program) roomAdd() *cobra.Command {
	in := new(operator.NewRoom)
	var owners []string
	cmd := commandOf(p, &operator.PutRoom.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		moderators, err := findOwners(ctx, c, in.Game, owners)
		if err != nil {
			return err
		}
		stored, err := operator.PutRoom.Call(ctx, c, *in)
		for _, who := range moderators {
			if err == nil {
				err = addOwner(ctx, c, who.key(storage.ChatModerator, chatRoom{channel: operator.GroupChannel(stored.ID)}))
			}
		}
		return p.confirm(err, "room %d of %s: %s", stored.ID, stored.Game, printable(stored.Name))
	})
	cmd.Flags().StringArrayVar(&owners, "owner", nil, "unique nick of a player who moderates the room; may be given more than once")
	return cmd
}

// findOwners returns the players with unique nicks in the namespace of a game. They are
// looked up before the room is stored: a mistake leaves nothing behind.
func findOwners(ctx context.Context, op operator.Conn, game string, nicks []string) (out []chatPlayer, err error) {
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
	return listOf(p, operator.ListRooms, "id\tgame…\tmax\tname…", func(r storage.Room) []string {
		return []string{strconv.FormatUint(uint64(r.ID), 10), r.Game, strconv.Itoa(r.MaxWaiting), r.Name}
	})
}

func (p *program) roomRemove() *cobra.Command {
	return command(p, operator.DeleteRoom, func(in operator.RoomRef, _ operator.Removed) error { return p.say("removed room %d", in.ID) })
}
