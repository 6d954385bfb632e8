package commands

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

const chatHelp = `Moderate chat.

ROOM is a channel ('#GSP!mygame', '#GPG!12'), the number of a group room, or the
name of a game for its title room. WHO is the nick of a player in chat, a unique
nick, profile:ID, an address or a range of addresses. A rule for a nick in chat is
stored for the profile of the player, or for the address of one without account.`

func (p *program) chatCommand() *cobra.Command {
	g := group("chat", "Moderate chat",
		p.chatRooms(), p.chatWho(), p.chatHistory(), p.chatSay(), p.chatKick(),
		p.chatRule("mute", "Let a player read only; takes effect at once", storage.ChatMute),
		p.chatLift("unmute", "Let a player talk again", storage.ChatMute),
		p.chatRule("ban", "Ban a player from chat; takes effect at once", storage.ChatBan),
		p.chatLift("unban", "Lift a ban from chat", storage.ChatBan), p.chatBans(),
		group("moderator", "Manage the moderators of chat",
			p.chatRule("add", "Make a player with an account a moderator; takes effect at once", storage.ChatModerator),
			p.chatLift("remove", "Make a moderator a plain player again; takes effect at once", storage.ChatModerator)))
	g.Long = chatHelp
	return g
}

func (p *program) chatRooms() *cobra.Command {
	return p.listCommand("rooms", "Show the chat rooms that have members", cobra.NoArgs,
		func(ctx context.Context, op operator.Conn, _ []string) error {
			list, err := operator.ListChatRooms.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			return showNodes(p, "channel…\tgame…\tmembers\tsince\tname…", list, func(r operator.ChatRoom) ([]string, string) {
				return []string{r.Channel, dash(r.Game), strconv.Itoa(r.Members), stamp(r.Since), dash(r.Name)}, r.Node
			})
		})
}

func (p *program) chatWho() *cobra.Command {
	return p.listCommand("who ROOM", "Show the members of a chat room", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, err := parseRoom(ctx, op, args[0])
			if err != nil {
				return err
			}
			list, err := operator.ListChatMembers.Call(ctx, op, operator.ChannelRef{Channel: room.channel})
			if err != nil {
				return err
			}
			return showNodes(p, "nick…\tprofile\taddress\trole\tsince\tactive", list, func(m operator.ChatMember) ([]string, string) {
				return []string{m.Nick, profileCell(m.Profile), m.Address.String(), roleOf(&m), stamp(m.Since), stamp(m.Active)}, m.Node
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

func (p *program) chatHistory() *cobra.Command {
	return p.listCommand("history ROOM", "Show the last lines of a chat room, if peerchat.history is set", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, err := parseRoom(ctx, op, args[0])
			if err != nil {
				return err
			}
			list, err := operator.ListChatLines.Call(ctx, op, operator.ChannelRef{Channel: room.channel})
			if err != nil {
				return err
			}
			if p.json {
				return printJSON(p, list)
			}
			if len(list) == 0 {
				return p.say("no lines are kept of %s; peerchat.history sets how many are", printable(room.channel))
			}
			for _, l := range list {
				if err := p.say("%s <%s> %s", stamp(l.At), printable(l.Nick), printable(l.Text)); err != nil {
					return err
				}
			}
			return nil
		})
}

func (p *program) chatSay() *cobra.Command {
	return p.operatorCommand("say ROOM TEXT", "Send a line to a chat room in the name of the server", cobra.ExactArgs(2),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, err := parseRoom(ctx, op, args[0])
			if err != nil {
				return err
			}
			return p.confirm(operator.ChatSay.Exec(ctx, op, operator.Saying{Channel: room.channel, Text: args[1]}), "sent to %s", printable(room.channel))
		})
}

func (p *program) chatKick() *cobra.Command {
	var in, reason string
	cmd := p.operatorCommand("kick WHO", "Remove a player from a chat room, or disconnect the player", cobra.ExactArgs(1),
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
			return p.confirm(err, "kicked %s: %s", counted(n.Removed, "player"), printable(t.String()))
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
func (p *program) chatRule(use, short string, kind storage.ChatKind) *cobra.Command {
	var in string
	r := storage.ChatRule{By: "cli"}
	cmd := p.operatorCommand(use+" WHO", short, cobra.ExactArgs(1),
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
			return p.confirm(operator.PutChatRule.Exec(ctx, op, operator.NewChatRule(r)), "%s until %s", done, until(r.Expires))
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
func (p *program) chatLift(use, short string, kind storage.ChatKind) *cobra.Command {
	var in string
	cmd := p.operatorCommand(use+" WHO", short, cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			room, who, err := findInRoom(ctx, op, args[0], in)
			if err != nil {
				return err
			}
			done := fmt.Sprintf("lifted the %s of %s in %s", kind, who, room)
			if kind == storage.ChatModerator {
				done = fmt.Sprintf("%s no longer moderates %s", who, room)
			}
			return p.confirm(operator.RemoveChatRule.Exec(ctx, op, operator.ChatRuleRef(who.key(kind, room))), "%s", done)
		})
	roomFlag(cmd, &in)
	return cmd
}

func (p *program) chatBans() *cobra.Command {
	return p.listCommand("bans", "Show bans, mutes and moderators of chat", cobra.NoArgs,
		func(ctx context.Context, op operator.Conn, _ []string) error {
			list, err := operator.ListChatRules.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			now := time.Now()
			return show(p, "rule\twho\troom…\tadded\tuntil\treason…", list, func(r storage.ChatRule) []string {
				end := until(r.Expires)
				if r.Expired(now) {
					end = "over since " + stamp(r.Expires)
				}
				return []string{r.Kind.String(), chatPlayer{profile: r.Profile, prefix: r.Prefix}.String(), chatRoom{channel: r.Channel}.String(), stamp(r.Added), end, dash(r.Reason)}
			})
		})
}

func (p *program) roomOwner() *cobra.Command {
	change := func(use, short, done string, do func(context.Context, operator.Conn, storage.ChatRuleKey) error) *cobra.Command {
		return p.operatorCommand(use+" ROOM UNIQUENICK", short, cobra.ExactArgs(2),
			func(ctx context.Context, op operator.Conn, args []string) error {
				room, err := parseRoom(ctx, op, args[0])
				if err != nil {
					return err
				}
				who, err := findAccount(ctx, op, args[1], room.namespace)
				if err != nil {
					return err
				}
				return p.confirm(do(ctx, op, who.key(storage.ChatModerator, room)), "%s %s %s", printable(args[1]), done, room)
			})
	}
	return group("owner", "Manage the moderators of chat rooms",
		change("add", "Make a player a moderator of a chat room", "moderates", addOwner),
		p.ownerList(),
		change("remove", "Make a player a plain member of a chat room again", "no longer moderates",
			func(ctx context.Context, op operator.Conn, key storage.ChatRuleKey) error {
				return operator.RemoveChatRule.Exec(ctx, op, operator.ChatRuleRef(key))
			}))
}

// addOwner makes a player a moderator.
func addOwner(ctx context.Context, op operator.Conn, key storage.ChatRuleKey) error {
	return operator.PutChatRule.Exec(ctx, op, operator.NewChatRule(storage.ChatRule{ChatRuleKey: key, By: "cli"}))
}

func (p *program) ownerList() *cobra.Command {
	return p.listCommand("list ROOM", "Show the moderators of a chat room", cobra.ExactArgs(1),
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
			return show(p, "profile\troom…\tadded", list, func(r storage.ChatRule) []string {
				return []string{profileCell(r.Profile), chatRoom{channel: r.Channel}.String(), stamp(r.Added)}
			})
		})
}

// String returns the room for people.
func (r chatRoom) String() string {
	if r.channel == "" {
		return "all of chat"
	}
	return printable(r.channel)
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
	return text + " (" + printable(w.nick) + ")"
}
