package admin

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Chat.
var (
	getChatRules   = newGetter("chat/rules", "bans, mutes and moderators of chat", operator.Operator.ChatRules)
	putChatRule    = newEndpoint("PUT", "chat/rules", "ban or mute in chat or make a moderator at once: kind, profile or prefix, channel, reason, by, expires", jsonBody, answering(done{1}, operator.Operator.PutChatRule))
	removeChatRule = newEndpoint("DELETE", "chat/rules", "lift a rule of chat: ?kind=, ?profile= or ?prefix=, ?channel=", chatRuleKey, answering(removed{1}, operator.Operator.RemoveChatRule))

	getChatRooms   = newGetter("chat/rooms", "chat rooms that have members", operator.Operator.ChatRooms)
	getChatMembers = newEndpoint("GET", "chat/members", "members of a chat room: ?channel=", channelParam, operator.Operator.ChatWho)
	getChatLines   = newEndpoint("GET", "chat/lines", "the last lines of a chat room, as many as peerchat.history: ?channel=", channelParam, operator.Operator.ChatSaid)
	chatKick       = newEndpoint("POST", "chat/kick", "remove players from a chat room, or disconnect them: nick, profile or prefix, channel, reason", jsonBody,
		func(op operator.Operator, ctx context.Context, k kickBody) (removed, error) {
			n, err := op.ChatKick(ctx, k.ChatTarget, k.Reason)
			return removed{n}, err
		})
	chatSay = newEndpoint("POST", "chat/say", "send a line to a chat room: channel, text", jsonBody,
		answering(done{1}, func(op operator.Operator, ctx context.Context, b sayBody) error {
			return op.ChatSay(ctx, b.Channel, b.Text)
		}))
)

// Inputs of operations of chat.
type (
	kickBody struct {
		operator.ChatTarget

		Reason string `json:"reason,omitempty"`
	}
	sayBody struct {
		Channel string `json:"channel"`
		Text    string `json:"text"`
	}
)

func channelParam(p *params, v *string) { p.text("channel", v) }

// chatRuleKey is the key of a rule of chat.
func chatRuleKey(p *params, k *storage.ChatRuleKey) {
	p.value("kind", k.Kind.String(), func(text string) (err error) {
		k.Kind, err = storage.ParseChatKind(text)
		return err
	})
	number(p, "profile", &k.Profile)
	prefix := ""
	if k.Prefix.IsValid() {
		prefix = k.Prefix.String()
	}
	p.value("prefix", prefix, func(text string) (err error) {
		if text == "" {
			k.Prefix = netip.Prefix{}
			return nil
		}
		k.Prefix, err = bans.ParsePrefix(text)
		return err
	})
	p.text("channel", &k.Channel)
}
