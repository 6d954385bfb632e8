package operations

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

const chatHelp = `Moderate chat.

ROOM is a channel ('#GSP!mygame', '#GPG!12'), the number of a group room, or the
name of a game for its title room. WHO is the nick of a player in chat, a unique
nick, profile:ID, an address or a range of addresses. A rule for a nick in chat is
stored for the profile of the player, or for the address of one without account;
with --nick for the nick alone.`

func chatCommand(con *cli.Console) *cobra.Command {
	g := cli.Group("chat", "Moderate chat",
		chatRooms(con), chatWho(con), chatHistory(con), chatSay(con), chatKick(con),
		chatRule(con, "chat mute", "Let a player read only; takes effect at once", storage.ChatMute),
		chatLift(con, "chat unmute", "Let a player talk again", storage.ChatMute),
		chatRule(con, "chat ban", "Ban a player from chat; takes effect at once", storage.ChatBan),
		chatLift(con, "chat unban", "Lift a ban from chat", storage.ChatBan), chatBans(con),
		cli.Group("moderator", "Manage the moderators of chat",
			chatRule(con, "chat moderator add", "Make a player with an account a moderator; takes effect at once", storage.ChatModerator),
			chatLift(con, "chat moderator remove", "Make a moderator a plain player again; takes effect at once", storage.ChatModerator)))
	g.Long = chatHelp
	return g
}

func chatRooms(con *cli.Console) *cobra.Command {
	return con.JSONFlag(cli.Command(con, operator.ListChatRooms, func(_ operator.None, list []operator.ChatRoom) error {
		return cli.ShowNodes(con, "channel…\tgame…\tmembers\tsince\tname…", list, func(r operator.ChatRoom) ([]string, string) {
			return []string{r.Channel, cli.Dash(r.Game), strconv.Itoa(r.Members), cli.Stamp(r.Since), cli.Dash(r.Name)}, r.Node
		})
	}))
}

// inRoom looks up the room that the first argument names.
func inRoom(ctx context.Context, c operator.Conn, in *operator.ChannelRef, args []string) error {
	room, err := parseRoom(ctx, c, args[0])
	in.Channel = room.channel
	return err
}

func chatWho(con *cli.Console) *cobra.Command {
	return con.JSONFlag(cli.Looking(con, operator.ListChatMembers, inRoom, func(_ operator.ChannelRef, list []operator.ChatMember) error {
		return cli.ShowNodes(con, "nick…\tprofile\taddress\trole\tsince\tactive", list, func(m operator.ChatMember) ([]string, string) {
			return []string{m.Nick, profileCell(m.Profile), m.Address.String(), roleOf(&m), cli.Stamp(m.Since), cli.Stamp(m.Active)}, m.Node
		})
	}))
}

// profileCell returns the cell of a profile, "-" for a player without account.
func profileCell(id storage.ProfileID) string {
	if id == 0 {
		return "-"
	}
	return strconv.FormatUint(uint64(id), 10)
}

func roleOf(m *operator.ChatMember) string {
	switch {
	case m.Muted:
		return "muted"
	case m.Operator:
		return "operator"
	case m.Voice:
		return "voice"
	}
	return "-"
}

func chatHistory(con *cli.Console) *cobra.Command {
	return con.JSONFlag(cli.Looking(con, operator.ListChatLines, inRoom, func(in operator.ChannelRef, list []operator.ChatLine) error {
		if con.JSON {
			return cli.PrintJSON(con, list)
		}
		if len(list) == 0 {
			return con.Say("no lines are kept of %s; peerchat.history sets how many are", cli.Printable(in.Channel))
		}
		for _, l := range list {
			if err := con.Say("%s <%s> %s", cli.Stamp(l.At), cli.Printable(l.Nick), cli.Printable(l.Text)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func chatSay(con *cli.Console) *cobra.Command {
	return cli.Looking(con, operator.ChatSay, func(ctx context.Context, c operator.Conn, in *operator.Saying, args []string) error {
		room, err := parseRoom(ctx, c, args[0])
		in.Channel = room.channel
		return err
	}, func(in operator.Saying, _ operator.Done) error {
		return con.Say("sent to %s", cli.Printable(in.Channel))
	})
}

func chatKick(con *cli.Console) *cobra.Command {
	return cli.Looking(con, operator.ChatKick, func(ctx context.Context, c operator.Conn, in *operator.Kicking, args []string) error {
		if _, err := operator.ListChatRooms.Call(ctx, c, operator.None{}); err != nil { // without chat it is not the name that is wrong
			return err
		}
		room, who, err := findInRoom(ctx, c, args[0], in.Channel)
		in.Channel, in.Nick = room.channel, who.nick
		if in.Nick == "" {
			in.Profile, in.Prefix = who.profile, who.prefix
		}
		return err
	}, func(in operator.Kicking, out operator.Removed) error {
		return con.Say("kicked %s: %s", cli.Counted(out.Removed, "player"), cli.Printable(in.String()))
	})
}

func chatRule(con *cli.Console, name, help string, kind storage.ChatKind) *cobra.Command {
	var done string
	var alone, yes bool
	cmd := cli.Looking(con, operator.PutChatRule.As(name, help),
		func(ctx context.Context, c operator.Conn, in *operator.NewChatRule, args []string) error {
			room, who, err := subjectOf(ctx, c, args[0], in.Channel, alone)
			key := who.key(kind, room)
			in.Kind, in.Profile, in.Prefix, in.Nick, in.Channel = kind, key.Profile, key.Prefix, key.Nick, key.Channel
			if err == nil && who.nick != "" && who.prefix.IsValid() && !yes {
				err = askOfOthers(ctx, con, c, who)
			}
			done = fmt.Sprintf("%s of %s in %s", kind, who, room)
			if kind == storage.ChatModerator {
				done = fmt.Sprintf("%s moderates %s", who, room)
			}
			return err
		}, func(in operator.NewChatRule, _ operator.Done) error {
			return con.Say("%s until %s", done, cli.Until(in.Expires))
		})
	if kind != storage.ChatModerator {
		nickFlag(cmd, &alone)
		cmd.Flags().BoolVar(&yes, "yes", false, "do not ask if others have the same address")
	}
	return cmd
}

// nickFlag adds the flag for a rule about a nick alone.
func nickFlag(cmd *cobra.Command, alone *bool) {
	cmd.Flags().BoolVar(alone, "nick", false, "the nick alone, of anyone who has it, and not the account or address")
}

// subjectOf is findInRoom; alone takes the name of the player as a nick.
func subjectOf(ctx context.Context, c operator.Conn, player, in string, alone bool) (chatRoom, chatPlayer, error) {
	if !alone {
		return findInRoom(ctx, c, player, in)
	}
	room, err := parseRoom(ctx, c, in)
	return room, chatPlayer{nick: player}, err
}

// askOfOthers asks whether a rule about the address of a player is meant for the others in chat who have it too.
func askOfOthers(ctx context.Context, con *cli.Console, c operator.Conn, who chatPlayer) error {
	rooms, err := operator.ListChatRooms.Call(ctx, c, operator.None{})
	var others []string
	for _, r := range rooms {
		members, _ := operator.ListChatMembers.Call(ctx, c, operator.ChannelRef{Channel: r.Channel}) // none: its last member left
		for _, m := range members {
			if nick := cli.Printable(m.Nick); m.Nick != who.nick && who.prefix.Contains(m.Address.Addr().Unmap()) && !slices.Contains(others, nick) {
				others = append(others, nick)
			}
		}
	}
	if err != nil || others == nil {
		return err
	}
	return con.Ask("%s has no account, and the address %s is also that of %s; --nick is about the nick alone. Go on?",
		cli.Printable(who.nick), who.prefix.Addr(), strings.Join(others, ", "))
}

func chatLift(con *cli.Console, name, help string, kind storage.ChatKind) *cobra.Command {
	var done string
	var alone bool
	cmd := cli.Looking(con, operator.RemoveChatRule.As(name, help),
		func(ctx context.Context, c operator.Conn, in *operator.ChatRuleRef, args []string) error {
			room, who, err := subjectOf(ctx, c, args[0], in.Channel, alone)
			*in = operator.ChatRuleRef(who.key(kind, room))
			done = fmt.Sprintf("lifted the %s of %s in %s", kind, who, room)
			if kind == storage.ChatModerator {
				done = fmt.Sprintf("%s no longer moderates %s", who, room)
			}
			return err
		}, func(operator.ChatRuleRef, operator.Removed) error { return con.Say("%s", done) })
	if kind != storage.ChatModerator {
		nickFlag(cmd, &alone)
	}
	return cmd
}

func chatBans(con *cli.Console) *cobra.Command {
	now := time.Now()
	return cli.ListOf(con, operator.ListChatRules, "rule\twho\troom…\tadded\tuntil\treason…", func(r storage.ChatRule) []string {
		who, room := chatPlayer{nick: r.Nick, profile: r.Profile, prefix: r.Prefix}, chatRoom{channel: r.Channel}
		return []string{r.Kind.String(), who.String(), room.String(), cli.Stamp(r.Added), endOf(r.Expires, now), cli.Dash(r.Reason)}
	})
}

func roomOwner(con *cli.Console) *cobra.Command {
	change := func(use, short, done string, do func(context.Context, operator.Conn, storage.ChatRuleKey) error) *cobra.Command {
		return con.OperatorCommand(use+" ROOM UNIQUENICK", short, cobra.ExactArgs(2),
			func(ctx context.Context, op operator.Conn, args []string) error {
				room, err := parseRoom(ctx, op, args[0])
				if err != nil {
					return err
				}
				who, err := findAccount(ctx, op, args[1], room.namespace)
				if err != nil {
					return err
				}
				return con.Confirm(do(ctx, op, who.key(storage.ChatModerator, room)), "%s %s %s", cli.Printable(args[1]), done, room)
			})
	}
	return cli.Group("owner", "Manage the moderators of chat rooms",
		change("add", "Make a player a moderator of a chat room", "moderates", addOwner),
		ownerList(con),
		change("remove", "Make a player a plain member of a chat room again", "no longer moderates",
			func(ctx context.Context, op operator.Conn, key storage.ChatRuleKey) error {
				return operator.RemoveChatRule.Exec(ctx, op, operator.ChatRuleRef(key))
			}))
}

// addOwner makes a player a moderator.
func addOwner(ctx context.Context, op operator.Conn, key storage.ChatRuleKey) error {
	return operator.PutChatRule.Exec(ctx, op, operator.NewChatRule{Kind: key.Kind, Profile: key.Profile, Channel: key.Channel, By: "cli"})
}

func ownerList(con *cli.Console) *cobra.Command {
	return con.JSONFlag(con.OperatorCommand("list ROOM", "Show the moderators of a chat room", cobra.ExactArgs(1),
		func(ctx context.Context, c operator.Conn, args []string) error {
			var in operator.ChannelRef
			if err := inRoom(ctx, c, &in, args); err != nil {
				return err
			}
			channel, err := storage.CanonicalChannel(in.Channel)
			if err != nil {
				return err
			}
			list, err := operator.ListChatRules.Call(ctx, c, operator.None{})
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(r storage.ChatRule) bool {
				return r.Kind != storage.ChatModerator || (r.Channel != channel && r.Channel != "")
			})
			return cli.Show(con, "profile\troom…\tadded", list, func(r storage.ChatRule) []string {
				return []string{profileCell(r.Profile), chatRoom{channel: r.Channel}.String(), cli.Stamp(r.Added)}
			})
		}))
}

// String returns the room for people.
func (r chatRoom) String() string {
	if r.channel == "" {
		return "all of chat"
	}
	return cli.Printable(r.channel)
}

// String returns the player for people.
func (w chatPlayer) String() string {
	text := w.prefix.String()
	switch {
	case w.profile != 0:
		text = fmt.Sprintf("profile %d", w.profile)
	case !w.prefix.IsValid():
		return "the nick " + cli.Printable(w.nick)
	}
	if w.nick == "" {
		return text
	}
	return text + " (" + cli.Printable(w.nick) + ")"
}

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
