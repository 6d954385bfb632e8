package webhook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/storage"
)

const (
	// heardLen is how much of the chat may wait to be looked at. More is lost and
	// counted.
	heardLen = 256
	// roomAgain is the shortest time between two reports of the same room.
	roomAgain = 10 * time.Minute
	// maxRooms is how many rooms are remembered for that. More are not reported.
	maxRooms = 4096
	// A hook gets saidBurst lines of its room at once, and saidRate per second after
	// that. More are lost and counted.
	saidBurst = 20
	saidRate  = 1
	// maxSaid is the length of a line in characters.
	maxSaid = 300
)

// Room is a chat room in an event. Its texts are clean and short, and not escaped.
type Room struct {
	Channel string `json:"channel"`
	Kind    string `json:"kind"` // title or group
	Game    string `json:"game"`
	Title   string `json:"title"` // of the game
	Name    string `json:"name"`  // of a group room
}

// ChatBan is a ban from chat in an event: of a profile or of a prefix.
type ChatBan struct {
	Profile storage.ProfileID `json:"profile,omitzero"`
	Prefix  string            `json:"prefix,omitempty"`
	Nick    string            `json:"nick,omitempty"`
	Channel string            `json:"channel"` // empty: from all of chat
	Reason  string            `json:"reason"`
	By      string            `json:"by"`
	Expires *time.Time        `json:"expires,omitempty"`
}

// Line is something that was said in the room of a hook.
type Line struct {
	Nick string `json:"nick"`
	Text string `json:"text"`
}

// heard is an event of the chat: a room that got its first member, or a line.
type heard struct {
	channel    string
	nick, text string // nick is empty for a room
}

// ChatUp reports that a channel got its first member. It does not wait.
func (d *Dispatcher) ChatUp(channel string) { d.hear(heard{channel: channel}) }

// ChatSaid reports a line. It does not wait, and is cheap for channels that no hook is
// for.
func (d *Dispatcher) ChatSaid(channel, nick, text string) {
	rooms := *d.rooms.Load()
	if len(rooms) == 0 {
		return
	}
	if c, err := storage.CanonicalChannel(channel); err == nil && rooms[c] {
		d.hear(heard{c, nick, text})
	}
}

func (d *Dispatcher) hear(h heard) {
	select {
	case d.heard <- h:
	default:
		d.metrics.Load().drop(dropQueueFull, 1)
	}
}

// RulesChanged makes Run look at the bans from chat. It does not wait.
func (d *Dispatcher) RulesChanged() { wake.Up(d.rules) }

// roomsOf returns the rooms of which hooks get the lines.
func roomsOf(hooks []Hook) *map[string]bool {
	rooms := make(map[string]bool)
	for i := range hooks {
		if c, err := storage.CanonicalChannel(hooks[i].Room); err == nil {
			rooms[c] = true
		}
	}
	return &rooms
}

// hear handles an event of the chat. w may be nil: there are no hooks.
func (w *watch) hear(h heard, now time.Time) {
	switch {
	case w == nil:
	case h.nick == "":
		w.roomUp(h.channel, now)
	default:
		w.said(h, now)
	}
}

// roomUp reports a title or group room that got its first member.
func (w *watch) roomUp(channel string, now time.Time) {
	room, ok := w.dispatcher.opt.Room(channel)
	if !ok {
		return
	}
	maps.DeleteFunc(w.rooms, func(_ string, at time.Time) bool { return now.Sub(at) >= roomAgain })
	if _, again := w.rooms[room.Channel]; again || len(w.rooms) >= maxRooms {
		return
	}
	w.rooms[room.Channel] = now
	room.Title, room.Name = clean.Line(room.Title, maxName), clean.Line(room.Name, maxName)
	for _, to := range w.workers {
		if to.sender.hook.wants(RoomUp, room.Game) {
			to.offer(Event{Kind: RoomUp, Time: stamp(now), Room: &room})
		}
	}
}

// said passes a line on to the hooks of its room.
func (w *watch) said(h heard, now time.Time) {
	line := &Line{Nick: clean.Line(h.nick, maxName), Text: clean.Line(h.text, maxSaid)}
	if action, ok := strings.CutPrefix(h.text, "\x01ACTION "); ok {
		line.Text = "* " + clean.Line(strings.TrimSuffix(action, "\x01"), maxSaid)
	}
	for _, to := range w.workers {
		hook := to.sender.hook
		if c, err := storage.CanonicalChannel(hook.Room); err != nil || c != h.channel || !slices.Contains(hook.Kinds, Said) {
			continue
		}
		if !to.lines.take(now) {
			w.dispatcher.metrics.Load().drop(dropRate, 1)
			continue
		}
		to.offer(Event{Kind: Said, Time: stamp(now), Line: line})
	}
}

// allowance is how many lines a hook may get. The zero value is full.
type allowance struct {
	spent float64
	at    time.Time
}

func (a *allowance) take(now time.Time) bool {
	if !a.at.IsZero() {
		a.spent = max(0, a.spent-saidRate*now.Sub(a.at).Seconds())
	}
	a.at = now
	if a.spent+1 > saidBurst {
		return false
	}
	a.spent++
	return true
}

// readRules reports the bans from chat that are new.
func (w *watch) readRules(now time.Time) {
	if w == nil {
		return
	}
	next := chatBans(w.dispatcher.opt.Rules(), now)
	for key, r := range next {
		if before, known := w.chatBans[key]; known && before.Added.Equal(r.Added) && before.Expires.Equal(r.Expires) {
			continue
		}
		if !w.dispatcher.mine(fmt.Sprint("chat/", key.Profile, key.Prefix, key.Nick, key.Channel)) {
			continue
		}
		for _, to := range w.workers {
			if to.sender.hook.wants(ChatBanned, "") {
				to.offer(Event{Kind: ChatBanned, Time: stamp(now), ChatBan: describeChatBan(r)})
			}
		}
	}
	w.chatBans = next
}

func chatBans(rules []storage.ChatRule, now time.Time) map[storage.ChatRuleKey]storage.ChatRule {
	out := make(map[storage.ChatRuleKey]storage.ChatRule)
	for _, r := range rules {
		if r.Kind == storage.ChatBan && !r.Expired(now) {
			out[r.ChatRuleKey] = r
		}
	}
	return out
}

func describeChatBan(r storage.ChatRule) *ChatBan {
	out := &ChatBan{
		Profile: r.Profile, Nick: clean.Line(r.Nick, maxName), Channel: r.Channel, Reason: clean.Line(r.Reason, 2*maxName), By: clean.Line(r.By, maxName),
	}
	if r.Prefix.IsValid() {
		out.Prefix = r.Prefix.String()
	}
	if !r.Expires.IsZero() {
		until := r.Expires.UTC()
		out.Expires = &until
	}
	return out
}
