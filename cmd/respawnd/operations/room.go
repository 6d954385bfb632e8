package operations

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func roomCommand(con *cli.Console) *cobra.Command {
	return cli.Group("room", "Manage the group rooms of games",
		roomAdd(con),
		cli.ListOf(con, operator.ListRooms, "id\tgame…\tmax\tname…", func(r storage.Room) []string {
			return []string{strconv.FormatUint(uint64(r.ID), 10), r.Game, strconv.Itoa(r.MaxWaiting), r.Name}
		}),
		cli.Command(con, operator.DeleteRoom, func(in operator.RoomRef, _ operator.Removed) error { return con.Say("removed room %d", in.ID) }),
		roomOwner(con))
}

func roomAdd(con *cli.Console) *cobra.Command {
	in := new(operator.NewRoom)
	var owners []string
	cmd := cli.CommandOf(con, &operator.PutRoom.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
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
		return con.Confirm(err, "room %d of %s: %s", stored.ID, stored.Game, cli.Printable(stored.Name))
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
