package operations

import (
	"context"
	"fmt"
	"slices"
	"strconv"
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
stored for the profile of the player, or for the address of one without account.`

func chatCommand(con *cli.Console) *cobra.Command {
	g := cli.Group("chat", "Moderate chat",
		chatRooms(con), chatWho(con), chatHistory(con), chatSay(con), chatKick(con),
		chatRule(con, "mute", "Let a player read only; takes effect at once", storage.ChatMute),
		chatLift(con, "unmute", "Let a player talk again", storage.ChatMute),
		chatRule(con, "ban", "Ban a player from chat; takes effect at once", storage.ChatBan),
		chatLift(con, "unban", "Lift a ban from chat", storage.ChatBan), chatBans(con),
		cli.Group("moderator", "Manage the moderators of chat",
			chatRule(con, "add", "Make a player with an account a moderator; takes effect at once", storage.ChatModerator),
			chatLift(con, "remove", "Make a moderator a plain player again; takes effect at once", storage.ChatModerator)))
	g.Long = chatHelp
	return g
}

func chatRooms(con *cli.Console) *cobra.Command {
	return con.ListCommand("rooms", "Show the chat rooms that have members", cobra.NoArgs,
		func(ctx context.Context, op operator.Conn, _ []string) error {
			list, err := operator.ListChatRooms.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			return cli.ShowNodes(con, "channel…\tgame…\tmembers\tsince\tname…", list, func(r operator.ChatRoom) ([]string, string) {
				return []string{r.Channel, cli.Dash(r.Game), strconv.Itoa(r.Members), cli.Stamp(r.Since), cli.Dash(r.Name)}, r.Node
			})
		})
}

func chatWho(con *cli.Console) *cobra.Command {
	return con.ListCommand("who ROOM", "Show the members of a chat room", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, err := parseRoom(ctx, op, args[0])
			if err != nil {
				return err
			}
			list, err := operator.ListChatMembers.Call(ctx, op, operator.ChannelRef{Channel: room.channel})
			if err != nil {
				return err
			}
			return cli.ShowNodes(con, "nick…\tprofile\taddress\trole\tsince\tactive", list, func(m operator.ChatMember) ([]string, string) {
				return []string{m.Nick, profileCell(m.Profile), m.Address.String(), roleOf(&m), cli.Stamp(m.Since), cli.Stamp(m.Active)}, m.Node
			})
		})
}

// profileCell returns the cell of a profile, "-" for a player without account.
func profileCell(id storage.ProfileID) string {
	if id == 0 {
		return "-"
	}
	return strconv.FormatUint(uint64(id), 10)
}

// roleOf returns the role of a member in its room.
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
	return con.ListCommand("history ROOM", "Show the last lines of a chat room, if peerchat.history is set", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, err := parseRoom(ctx, op, args[0])
			if err != nil {
				return err
			}
			list, err := operator.ListChatLines.Call(ctx, op, operator.ChannelRef{Channel: room.channel})
			if err != nil {
				return err
			}
			if con.JSON {
				return cli.PrintJSON(con, list)
			}
			if len(list) == 0 {
				return con.Say("no lines are kept of %s; peerchat.history sets how many are", cli.Printable(room.channel))
			}
			for _, l := range list {
				if err := con.Say("%s <%s> %s", cli.Stamp(l.At), cli.Printable(l.Nick), cli.Printable(l.Text)); err != nil {
					return err
				}
			}
			return nil
		})
}

func chatSay(con *cli.Console) *cobra.Command {
	return con.OperatorCommand("say ROOM TEXT", "Send a line to a chat room in the name of the server", cobra.ExactArgs(2),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, err := parseRoom(ctx, op, args[0])
			if err != nil {
				return err
			}
			return con.Confirm(operator.ChatSay.Exec(ctx, op, operator.Saying{Channel: room.channel, Text: args[1]}), "sent to %s", cli.Printable(room.channel))
		})
}

func chatKick(con *cli.Console) *cobra.Command {
	var in, reason string
	cmd := con.OperatorCommand("kick WHO", "Remove a player from a chat room, or disconnect the player", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			if _, err := operator.ListChatRooms.Call(ctx, op, operator.None{}); err != nil { // without chat it is not the name that is wrong
				return err
			}
			room, who, err := findInRoom(ctx, op, args[0], in)
			if err != nil {
				return err
			}
			t := operator.ChatTarget{Channel: room.channel, Nick: who.nick}
			if t.Nick == "" {
				t.Profile, t.Prefix = who.profile, who.prefix
			}
			n, err := operator.ChatKick.Call(ctx, op, operator.Kicking{ChatTarget: t, Reason: reason})
			return con.Confirm(err, "kicked %s: %s", cli.Counted(n.Removed, "player"), cli.Printable(t.String()))
		})
	roomFlag(cmd, &in)
	cmd.Flags().StringVar(&reason, "reason", "", "reason, which the room reads")
	return cmd
}

// roomFlag adds --room to a command.
func roomFlag(cmd *cobra.Command, room *string) {
	cmd.Flags().StringVar(room, "room", "", "only in this chat room (default: in all of chat)")
}

// chatRule returns a command that sets a rule of a kind.
func chatRule(con *cli.Console, use, short string, kind storage.ChatKind) *cobra.Command {
	var in string
	r := storage.ChatRule{By: "cli"}
	cmd := con.OperatorCommand(use+" WHO", short, cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, who, err := findInRoom(ctx, op, args[0], in)
			if err != nil {
				return err
			}
			r.ChatRuleKey = who.key(kind, room)
			done := fmt.Sprintf("%s of %s in %s", kind, who, room)
			if kind == storage.ChatModerator {
				done = fmt.Sprintf("%s moderates %s", who, room)
			}
			return con.Confirm(operator.PutChatRule.Exec(ctx, op, operator.NewChatRule(r)), "%s until %s", done, cli.Until(r.Expires))
		})
	roomFlag(cmd, &in)
	flags := addBanFlags(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		r.Reason, r.Added = flags.reason, time.Now()
		r.Expires, err = flags.end(r.Added)
		return err
	}
	return cmd
}

// chatLift returns a command that lifts a rule of a kind.
func chatLift(con *cli.Console, use, short string, kind storage.ChatKind) *cobra.Command {
	var in string
	cmd := con.OperatorCommand(use+" WHO", short, cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, who, err := findInRoom(ctx, op, args[0], in)
			if err != nil {
				return err
			}
			done := fmt.Sprintf("lifted the %s of %s in %s", kind, who, room)
			if kind == storage.ChatModerator {
				done = fmt.Sprintf("%s no longer moderates %s", who, room)
			}
			return con.Confirm(operator.RemoveChatRule.Exec(ctx, op, operator.ChatRuleRef(who.key(kind, room))), "%s", done)
		})
	roomFlag(cmd, &in)
	return cmd
}

func chatBans(con *cli.Console) *cobra.Command {
	return con.ListCommand("bans", "Show bans, mutes and moderators of chat", cobra.NoArgs,
		func(ctx context.Context, op operator.Conn, _ []string) error {
			list, err := operator.ListChatRules.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			now := time.Now()
			return cli.Show(con, "rule\twho\troom…\tadded\tuntil\treason…", list, func(r storage.ChatRule) []string {
				end := cli.Until(r.Expires)
				if r.Expired(now) {
					end = "over since " + cli.Stamp(r.Expires)
				}
				return []string{r.Kind.String(), chatPlayer{profile: r.Profile, prefix: r.Prefix}.String(), chatRoom{channel: r.Channel}.String(), cli.Stamp(r.Added), end, cli.Dash(r.Reason)}
			})
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
	return operator.PutChatRule.Exec(ctx, op, operator.NewChatRule(storage.ChatRule{ChatRuleKey: key, By: "cli"}))
}

func ownerList(con *cli.Console) *cobra.Command {
	return con.ListCommand("list ROOM", "Show the moderators of a chat room", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, err := parseRoom(ctx, op, args[0])
			if err != nil {
				return err
			}
			channel, err := storage.CanonicalChannel(room.channel)
			if err != nil {
				return err
			}
			list, err := operator.ListChatRules.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(r storage.ChatRule) bool {
				return r.Kind != storage.ChatModerator || (r.Channel != channel && r.Channel != "")
			})
			return cli.Show(con, "profile\troom…\tadded", list, func(r storage.ChatRule) []string {
				return []string{profileCell(r.Profile), chatRoom{channel: r.Channel}.String(), cli.Stamp(r.Added)}
			})
		})
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
	if w.profile != 0 {
		text = fmt.Sprintf("profile %d", w.profile)
	}
	if w.nick == "" {
		return text
	}
	return text + " (" + cli.Printable(w.nick) + ")"
}
