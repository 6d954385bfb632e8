package peerchat

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func TestMessages(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	for _, command := range []string{"PRIVMSG", "NOTICE", "UTM", "ATM"} {
		for _, text := range []string{":hello", "hello", "::", ": two  spaces ", ":\x01ACTION waves\x01", ":@@@NFO \\$flags$\\rX\\", ":\xff\xfe Latin-1 \xe4 \x02\x1f"} {
			op.send(command + " #ROOM " + text)
			want := " :" + strings.TrimPrefix(text, ":")
			plain.want(op.masked() + " " + command + " #room" + want)
			op.send(command + " oUTSIDE " + text)
			outside.want(op.masked() + " " + command + " Outside" + want)
		}
		op.expect(command, ":s 411 Op :No recipient given ("+command+")")
		op.expect(command+" #room", ":s 412 Op :No text to send")
		op.expect(command+" #room :", ":s 412 Op :No text to send")
		op.expect(command+" #none :x", ":s 403 Op #none :No such channel")
		op.expect(command+" Ghost :x", ":s 401 Op Ghost :No such nick")
	}
	for _, ctcp := range []string{"\x01VERSION\x01", "\x01", "\x01DCC SEND x 1 2 3\x01", "\x01ACTION"} {
		op.expect("PRIVMSG #room :"+ctcp, ":s 404 Op #room :Of CTCP only ACTION is relayed")
		op.expect("NOTICE Plain :"+ctcp, ":s 404 Op Plain :Of CTCP only ACTION is relayed")
		op.send("UTM Plain :" + ctcp)
		plain.want(op.masked() + " UTM Plain :" + ctcp)
	}
	if n := f.dropped(droppedCTCP); n != 8 {
		t.Errorf("%d texts counted", n)
	}
	op.send("PRIVMSG op :to myself")
	op.want(op.own() + " PRIVMSG Op :to myself")
	plain.quiet()
}

// target selects a member of a room.
func target(room, nick string) operator.ChatTarget {
	return operator.ChatTarget{Channel: room, Nick: nick}
}

// Only members are heard in a room, whatever its kind and modes.
func TestMessagesFromOutside(t *testing.T) {
	for _, room := range []string{"#GSP!gmtest", "#GPG!12", "#GSP!gmtest!MqNKN001KM", "#other"} {
		t.Run(room, func(t *testing.T) {
			f := start(t, nil)
			op, plain, outside := f.room(room)
			refused := func(c *client) {
				t.Helper()
				for _, command := range []string{"PRIVMSG", "NOTICE", "UTM", "ATM"} {
					c.expect(command+" "+room+" :x", ":s 404 "+c.nick+" "+room+" :Cannot send to channel")
				}
				op.quiet()
			}
			refused(outside) // never was in it
			plain.send("UTM " + room + " :x")
			op.line()
			plain.ask("PART " + room)
			op.line()
			refused(plain) // left it
			plain.join(room)
			op.line()
			if _, err := f.server.Kick(t.Context(), target(room, "Plain"), "out"); err != nil {
				t.Fatal(err)
			}
			plain.want(":s KICK " + room + " Plain :out")
			op.line()
			refused(plain) // was kicked
		})
	}
}

// TestInjection: a line end in a text would forge a line of the server.
func TestInjection(t *testing.T) {
	f := start(t, nil)
	op, plain, _ := f.room("#room")
	const evil = "a\r:s 001 Plain :forged\x00b\rc"
	clean := strings.NewReplacer("\r", "", "\x00", "").Replace(evil)
	op.send("PRIVMSG #room :"+evil, "TOPIC #room :"+evil, `SETCKEY #room Op :\b_k`+"\r"+`\`+evil, "PART #room :"+evil)
	plain.want(op.masked()+" PRIVMSG #room :"+clean, op.masked()+" TOPIC #room :"+clean, `:s 702 Plain #room Op BCAST :\b_k\`+clean)
	plain.want(op.masked() + " PART #room :" + clean)
	op.ask()
	op.expect("NICK a\rb", op.own()+" NICK :ab")
	op.nick = "ab"
	op.send("JOIN #x\rJOIN #y")
	op.want(op.own() + " JOIN :#xJOIN")
}

func TestWordFilter(t *testing.T) {
	f := start(t, func(o *Options) { o.WordFilter = []string{"Bad", "", "worse"} })
	op, plain, _ := f.room("#room")
	op.send("PRIVMSG #room :bad BAD not wOrse", "NOTICE Plain :badbad", "UTM #room :bad", "PRIVMSG #room :@@@NFO bad")
	plain.want(op.masked()+" PRIVMSG #room :*** *** not *****", op.masked()+" NOTICE Plain :******", op.masked()+" UTM #room :bad",
		op.masked()+" PRIVMSG #room :@@@NFO bad")
	op.expect("TOPIC #room :bad topic", op.own()+" TOPIC #room :*** topic")
	op.ask("AWAY :bad")
	plain.line()
	plain.expect("PRIVMSG Op :x", ":s 301 Plain Op :***")
	op.line()
	f.reload(func(c *Config) { c.WordFilter = nil })
	op.send("PRIVMSG #room :bad")
	plain.want(op.masked() + " PRIVMSG #room :bad")
}

func TestRules(t *testing.T) {
	f := start(t, nil)
	ann := f.register("Ann", testNamespace)
	op, plain, _ := f.room("#room")
	c := f.logIn(ann)
	c.join("#room")
	op.want(c.own() + " JOIN :#room")
	plain.want(c.masked() + " JOIN :#room")
	put := func(kind storage.ChatKind, channel string) {
		t.Helper()
		if err := f.rules.Put(t.Context(), storage.ChatRule{ChatRuleKey: storage.ChatRuleKey{Kind: kind, Channel: channel, Profile: ann.ID}}); err != nil {
			t.Fatal(err)
		}
	}
	put(storage.ChatMute, "#room")
	c.expect("PRIVMSG #room :x", ":s 404 Ann-gs #room :Cannot send to channel")
	c.expect("TOPIC #room :x", ":s 482 Ann-gs #room :You're not channel operator")
	c.expect("UTM #room :GML x")
	c.send("PRIVMSG Op :psst")
	op.want(c.own()+" UTM #room :GML x", c.masked()+" PRIVMSG Op :psst")
	put(storage.ChatMute, "")
	c.expect("PRIVMSG Op :psst", ":s 404 Ann-gs Op :You are muted")
	put(storage.ChatBan, "#room")
	c.want(":s KICK #room Ann-gs :Banned by the operator")
	c.expect("JOIN #room", ":s 474 Ann-gs #room :Cannot join channel (+b)")
	own := c.own()
	c.join("#other")
	put(storage.ChatBan, "")
	c.wantEnd("You are banned")
	if own == "" || f.dropped(endedBanned) != 1 {
		t.Error("not counted")
	}
	again := f.connect()
	again.send("LOGIN 1 Ann " + md5hex(testPassword))
	again.wantEnd("You are banned")
}

// A rule about a nick is about those who have it or want it, and about nothing else of them.
func TestRulesAboutNicks(t *testing.T) {
	f := start(t, nil)
	op, plain, _ := f.room("#room")
	put := func(kind storage.ChatKind, nick, channel string) {
		t.Helper()
		if err := f.rules.Put(t.Context(), storage.ChatRule{ChatRuleKey: storage.ChatRuleKey{Kind: kind, Channel: channel, Nick: nick}}); err != nil {
			t.Fatal(err)
		}
	}
	put(storage.ChatMute, "PLAIN", "#room")
	plain.expect("PRIVMSG #room :x", ":s 404 Plain #room :Cannot send to channel")
	put(storage.ChatBan, "Seller", "#room")
	plain.expect("NICK seller", ":s 432 Plain seller :This nickname is banned")
	put(storage.ChatBan, "plain", "#room")
	plain.want(":s KICK #room Plain :Banned by the operator")
	plain.expect("JOIN #room", ":s 474 Plain #room :Cannot join channel (+b)")
	put(storage.ChatBan, "Plain", "")
	plain.wantEnd("You are banned")
	again := f.connect()
	again.send("USER XWwwww9wwX|0 0 * :x", "NICK Plain")
	again.want(":s 432 * Plain :This nickname is banned")
	again.send("NICK Other")
	again.want(":s 001 Other :Welcome to the chat, Other")
	op.line()
}
