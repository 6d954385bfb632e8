package peerchat

import (
	"fmt"
	"strings"
	"testing"
)

// room returns a channel with an operator and a plain member, and a client outside.
func (f *fixture) room(channel string) (op, plain, outside *client) {
	f.t.Helper()
	op, plain, outside = f.signOn("Op"), f.signOn("Plain"), f.signOn("Outside")
	op.join(channel)
	plain.join(channel)
	if got := op.line(); !strings.HasSuffix(got, " JOIN :"+channel) {
		f.t.Fatalf("received %q", got)
	}
	return op, plain, outside
}

func TestJoin(t *testing.T) {
	f := start(t, nil)
	ann, bob := f.signOn("Ann"), f.signOn("Bob")
	ann.expect("JOIN #a ", ann.own()+" JOIN :#a", ":s 353 Ann = #a :@Ann", ":s 366 Ann #a :End of /NAMES list.")
	bob.expect("JOIN #A", bob.own()+" JOIN :#A", ":s 353 Bob = #A :@Ann Bob", ":s 366 Bob #A :End of /NAMES list.")
	ann.want(bob.own() + " JOIN :#a") // as the receiver wrote it, with the address for the operator
	ann.send("PRIVMSG #a :hello")
	bob.want(ann.masked() + " PRIVMSG #A :hello")
	ann.expect("MODE #a +v Bob", ann.own()+" MODE #a +v Bob")
	bob.want(ann.masked() + " MODE #A +v Bob")
	bob.expect("JOIN #a", bob.own()+" JOIN :#a", ":s 353 Bob = #a :@Ann +Bob", ":s 366 Bob #a :End of /NAMES list.")
	ann.send("TOPIC #a :a: topic  with spaces")
	bob.want(ann.masked() + " TOPIC #a :a: topic  with spaces")
	ann.want(ann.own() + " TOPIC #a :a: topic  with spaces")
	eve := f.signOn("Eve")
	eve.expect("JOIN #a,#b,#a", eve.own()+" JOIN :#a", ":s 332 Eve #a :a: topic  with spaces", ":s 353 Eve = #a :@Ann +Bob Eve",
		":s 366 Eve #a :End of /NAMES list.", eve.own()+" JOIN :#b", ":s 353 Eve = #b :@Eve", ":s 366 Eve #b :End of /NAMES list.",
		eve.own()+" JOIN :#a", ":s 332 Eve #a :a: topic  with spaces", ":s 353 Eve = #a :@Ann +Bob Eve", ":s 366 Eve #a :End of /NAMES list.")
	ann.want(eve.own() + " JOIN :#a")
	ann.quiet()
	for _, bad := range []string{"a", "#", "&a", "#" + strings.Repeat("x", maxChannel), "#\x01"} {
		ann.expect("JOIN "+bad, ":s 403 Ann "+bad+" :No such channel")
	}
	longest := "#" + strings.Repeat("x", maxChannel-1)
	ann.expect("JOIN "+longest, ann.own()+" JOIN :"+longest, ":s 353 Ann = "+longest+" :@Ann", ":s 366 Ann "+longest+" :End of /NAMES list.")
}

// TestStagingNames: the part after the second exclamation mark is an address.
func TestStagingNames(t *testing.T) {
	f := start(t, nil)
	ann, bob := f.signOn("Ann"), f.signOn("Bob")
	ann.join("#GSP!gmtest!MqNKN001KM")
	bob.join("#gsp!GMTEST!MqNKN001KM")
	ann.want(bob.own() + " JOIN :#GSP!gmtest!MqNKN001KM")
	bob.join("#GSP!gmtest!mqnkn001km")
	ann.quiet()
	if n := f.server.Members("#gsp!gmtest!MqNKN001KM"); n != 2 {
		t.Errorf("%d members", n)
	}
}

// TestLastMember: bans, topic and keys of a room end with its last member.
func TestLastMember(t *testing.T) {
	f := start(t, nil)
	bob := f.signOn("Bob")
	mod := f.register("Ann", testNamespace)
	f.moderate(mod.ID, "#GPG!12", true)
	ann := f.logIn(mod)
	ann.join("#GPG!12")
	ann.ask("TOPIC #GPG!12 :old", `SETCHANKEY #GPG!12 :\b_k\v`, "MODE #GPG!12 +b bob!*@*", "INVITE Bob #GPG!12")
	bob.want(ann.masked() + " INVITE Bob #GPG!12")
	ann.expect("PART #GPG!12 :bye", ann.own()+" PART #GPG!12 :bye")
	bob.expect("LIST #GPG*", ":s 321 Bob Channel :Users Name", ":s 323 Bob :End of LIST")
	bob.expect("JOIN #gpg!12", bob.own()+" JOIN :#gpg!12", ":s 353 Bob = #gpg!12 :Bob", ":s 366 Bob #gpg!12 :End of /NAMES list.")
	bob.expect("MODE #GPG!12", ":s 324 Bob #GPG!12 +nt")
	bob.expect("MODE #GPG!12 +b", ":s 368 Bob #GPG!12 :End of Channel Ban List")
	bob.expect("GETCHANKEY #GPG!12 1 0 :*", `:s 704 Bob #GPG!12 1 :\`)
	bob.expect("PART #GPG!12 :x", bob.own()+" PART #gpg!12 :x")
	bob.expect("PART #GPG!12", ":s 403 Bob #GPG!12 :No such channel")
}

func TestModes(t *testing.T) {
	const full, keep = "Cannot join channel (+l)", "Cannot join channel "
	for _, v := range []struct {
		name, set string
		join      string // answer to the client outside; empty: it may join
		plain     string // to a message of the member
		topic     string // to a topic of the member
	}{
		{"none", "-t", "", "", ""},
		{"invite only", "+i", "473 Outside #room :" + keep + "(+i)", "", ""},
		{"moderated", "+m", "", "404 Plain #room :Cannot send to channel", ""},
		{"no messages from outside", "+n", "", "", ""},
		{"topic", "+t", "", "", "482 Plain #room :You're not channel operator"},
		{"password", "+k pw", "475 Outside #room :" + keep + "(+k)", "", ""},
		{"limit", "+l 2", "471 Outside #room :" + full, "", ""},
		{"larger limit", "+l 3", "", "", ""},
		{"ban", "+b outside!*@*", "474 Outside #room :" + keep + "(+b)", "", ""},
		{"ban of a member", "+b plain!*@*", "", "404 Plain #room :Cannot send to channel", ""},
		{"private", "+p", "", "", ""},
		{"secret", "+s", "", "", ""},
		{"operators obey", "+e", "", "", ""},
	} {
		t.Run(v.name, func(t *testing.T) {
			f := start(t, nil)
			op, plain, outside := f.room("#room")
			op.expect("MODE #room "+v.set, op.own()+" MODE #room "+v.set)
			plain.want(op.masked() + " MODE #room " + v.set)
			answers := func(c *client, line, want string) bool {
				t.Helper()
				if want == "" {
					c.expect(line)
					return true
				}
				c.expect(line, ":s "+want)
				return false
			}
			outside.expect("PRIVMSG #room :out", ":s 404 Outside #room :Cannot send to channel")
			if answers(plain, "UTM #room :in", v.plain) {
				op.want(plain.own() + " UTM #room :in")
			}
			if v.topic == "" {
				plain.expect("TOPIC #room :t", plain.own()+" TOPIC #room :t")
				op.want(plain.own() + " TOPIC #room :t")
			} else {
				plain.expect("TOPIC #room :t", ":s "+v.topic)
			}
			op.expect("ATM #room :op")
			plain.want(op.masked() + " ATM #room :op")
			if v.join != "" {
				outside.expect("JOIN #room", ":s "+v.join)
				outside.expect("JOIN #room wrong", ":s "+v.join)
			} else {
				outside.join("#room")
				op.want(outside.own() + " JOIN :#room")
				plain.want(outside.masked() + " JOIN :#room")
			}
		})
	}
}

func TestModes_invitation(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	plain.expect("INVITE Outside #room", ":s 341 Plain Outside #room")
	outside.want(plain.masked() + " INVITE Outside #room")
	op.send("MODE #room +ik pw", "MODE #room +b outside!*@*")
	plain.want(op.masked()+" MODE #room +i+k pw", op.masked()+" MODE #room +b outside!*@*")
	outside.expect("JOIN #room pw", ":s 473 Outside #room :Cannot join channel (+i)") // only an operator's invitation lets a client in
	plain.expect("INVITE Outside #room", ":s 482 Plain #room :You're not channel operator")
	op.ask("INVITE Outside #room")
	outside.want(op.masked() + " INVITE Outside #room")
	outside.ask("NICK Other") // the invitation is for the user, not for the nick
	eve := f.signOn("Eve")
	eve.expect("NICK Outside", eve.own()+" NICK :Outside")
	eve.nick = "Outside"
	eve.expect("JOIN #room pw", ":s 473 Outside #room :Cannot join channel (+i)")
	outside.nick = "Other"
	outside.join("#room")
	outside.ask("PART #room")
	outside.expect("JOIN #room pw", ":s 473 Other #room :Cannot join channel (+i)") // once
	op.ask("INVITE Ghost #room", "INVITE Plain #room", "INVITE Other #none")
	op.expect("INVITE Ghost #room", ":s 401 Op Ghost :No such nick")
	op.expect("INVITE Plain #room", ":s 443 Op Plain #room :is already on channel")
	op.expect("INVITE Other #none", ":s 403 Op #none :No such channel")
	outside.expect("INVITE Op #room", ":s 442 Other #room :You're not on that channel")
}

func TestModes_lists(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	op.send("MODE #room -i+p-s-m+n+t+l+e 8", "MODE #room +k pw")
	plain.want(op.masked()+" MODE #room -i+p-s-m+n+t+l+e 8", op.masked()+" MODE #room +k pw")
	op.want(op.own()+" MODE #room -i+p-s-m+n+t+l+e 8", op.own()+" MODE #room +k pw")
	op.expect("MODE #room", ":s 324 Op #room +pntkle pw 8")
	outside.expect("MODE #room", ":s 324 Outside #room +pntkle * 8")
	outside.expect("MODE #none", ":s 403 Outside #none :No such channel")
	outside.expect("MODE #room +i", ":s 442 Outside #room :You're not on that channel")
	plain.expect("MODE #room +i", ":s 482 Plain #room :You're not channel operator")
	plain.expect("MODE #room +b", ":s 368 Plain #room :End of Channel Ban List")
	op.expect("MODE #room +x", ":s 472 Op x :is unknown mode char to me")
	op.expect("MODE #room +o Ghost", ":s 401 Op Ghost :No such nick")
	op.expect("MODE #room +v Outside", ":s 441 Op Outside #room :They aren't on that channel")
	op.expect("MODE #room +l 0")
	op.expect("MODE #room +b "+strings.Repeat("x", maxBanMask), ":s 476 Op #room :Bad mask")
	op.expect("MODE #room +k", ":s 472 Op +k :is not a list of modes")
	op.expect("MODE #room "+strings.Repeat("+n", maxModes+1), ":s 472 Op "+strings.Repeat("+n", maxKey/2)+" :is not a list of modes")
	op.expect("MODE #room "+strings.Repeat("+n", maxModes), op.own()+" MODE #room "+strings.Repeat("+n", maxModes))
	plain.want(op.masked() + " MODE #room " + strings.Repeat("+n", maxModes))
	op.expect("MODE #room -kl x", op.own()+" MODE #room -k-l x")
	plain.want(op.masked() + " MODE #room -k-l x")
	op.expect("MODE #room +b *!*@1.2.3.4", op.own()+" MODE #room +b *!*@1.2.3.4")
	if got := op.ask("MODE #room b"); len(got) != 2 || !strings.HasPrefix(got[0], ":s 367 Op #room *!*@1.2.3.4 Op 1") {
		t.Errorf("bans: %q", got)
	}
	plain.want(op.masked() + " MODE #room +b *!*@1.2.3.4")
	for i := range maxBans - 1 {
		op.ask(fmt.Sprintf("MODE #room +b nick%d!*@*", i))
	}
	op.expect("MODE #room +b full!*@*", ":s 478 Op #room full!*@* :Channel ban list is full")
}

func TestModes_ranks(t *testing.T) {
	f := start(t, nil)
	const room = "#GSP!gmtest!MqNKN001KM"
	op, plain, _ := f.room(room)
	op.expect("MODE "+room+" +o plain", op.own()+" MODE "+room+" +o plain")
	plain.want(op.own() + " MODE " + room + " +o plain")
	plain.expect("MODE "+room+" -o Op", ":s 482 Plain "+room+" :The channel belongs to that user")
	plain.expect("KICK "+room+" Op :out", ":s 482 Plain "+room+" :The channel belongs to that user")
	plain.expect("MODE "+room+" -o Plain", plain.own()+" MODE "+room+" -o Plain")
	op.want(plain.own() + " MODE " + room + " -o Plain")
	op.expect("MODE "+room+" +v-v Plain Plain", op.own()+" MODE "+room+" +v-v Plain Plain")
	plain.want(op.masked() + " MODE " + room + " +v-v Plain Plain")
	op.expect("KICK "+room+" Plain", op.own()+" KICK "+room+" Plain :Op")
	plain.want(op.masked() + " KICK " + room + " Plain :Op")
	plain.expect("KICK "+room+" Op", ":s 442 Plain "+room+" :You're not on that channel")
}

// TestHidden: users outside see neither members nor keys of private rooms.
func TestHidden(t *testing.T) {
	for _, mode := range []string{"+p", "+s"} {
		f := start(t, nil)
		op, _, outside := f.room("#room")
		op.ask("MODE #room " + mode)
		outside.expect("NAMES #room", ":s 366 Outside #room :End of /NAMES list.")
		outside.expect("WHO #room", ":s 315 Outside #room :End of WHO list")
		outside.expect("LIST", ":s 321 Outside Channel :Users Name", ":s 323 Outside :End of LIST")
		outside.expect(`GETKEY #room 1 0 :\k`, ":s 403 Outside #room :No such channel")
		outside.expect(`GETCKEY #room * 1 0 :\k`, ":s 403 Outside #room :No such channel")
		outside.expect(`GETCHANKEY #room 1 0 :*`, ":s 403 Outside #room :No such channel")
		outside.expect("WHOIS Op", ":s 311 Outside Op Op "+op.user().mask+" * :Real name", ":s 318 Outside Op :End of WHOIS list")
		op.expect("LIST #r?om", ":s 321 Op Channel :Users Name", ":s 322 Op #room 2 :", ":s 323 Op :End of LIST")
	}
}

func TestQuiet(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	plain.expect("MODE op +q", ":s 502 Plain :Can't change mode for other users")
	plain.expect("MODE plain +q")
	op.ask("PRIVMSG #room :unheard", "TOPIC #room :unheard", "MODE #room +m-m", `SETCHANKEY #room :\b_k\v`)
	outside.join("#room")
	op.want(outside.own() + " JOIN :#room")
	outside.expect("NICK Renamed", outside.own()+" NICK :Renamed")
	outside.send("QUIT :x")
	outside.nick = "Renamed"
	outside.wantEnd("x")
	plain.quiet()
	op.send("PRIVMSG Plain :heard")
	plain.want(op.masked() + " PRIVMSG Plain :heard")
	plain.expect("TOPIC #room :own", plain.own()+" TOPIC #room :own")
	plain.expect(`SETCKEY #room Plain :\b_f\x`, `:s 702 Plain #room Plain BCAST :\b_f\x`)
	plain.join("#other")
	plain.expect("MODE PLAIN -q", ":s 353 Plain = #room :@Op Plain", ":s 366 Plain #room :End of /NAMES list.",
		":s 353 Plain = #other :@Plain", ":s 366 Plain #other :End of /NAMES list.")
	plain.expect("MODE plain -q")
	plain.ask("MODE plain +q")
	op.ask("KICK #room Plain :out")
	plain.want(op.masked() + " KICK #room Plain :out")
}

func TestNickChange(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	op.join("#two")
	plain.join("#two")
	op.want(plain.own() + " JOIN :#two")
	was := plain.own()
	plain.expect("NICK :PLAIN", was+" NICK :PLAIN") // the same nick in another case
	op.want(was + " NICK :PLAIN")                   // once, though they share two rooms
	plain.nick = "PLAIN"
	plain.expect("NICK op", ":s 433 PLAIN op :Nickname is already in use")
	plain.expect("NICK PLAIN")
	plain.expect("NICK *", ":s 432 PLAIN * :Erroneous nickname")
	op.quiet()
	outside.quiet()
	was = plain.own()
	plain.expect("NICK Next", was+" NICK :Next")
	op.want(was + " NICK :Next")
	op.expect("ISON PLAIN Next", ":s 303 Op :Next")
}

// TestLeave: the mates of a client that goes hear of it once.
func TestLeave(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	op.join("#two")
	plain.join("#two")
	op.want(plain.own() + " JOIN :#two")
	own := plain.own()
	plain.send("QUIT :Later!")
	plain.wantEnd("Later!")
	op.want(own + " QUIT :Later!")
	op.quiet()
	outside.join("#room")
	own = outside.own()
	op.want(own + " JOIN :#room")
	_ = outside.conn.Close()
	op.want(own + " QUIT :Connection reset")
	op.expect("NAMES #room", ":s 353 Op = #room :@Op", ":s 366 Op #room :End of /NAMES list.")
	op.expect("NAMES", ":s 366 Op * :End of /NAMES list.")
	op.expect("PART #room,#two,#none", op.own()+" PART #room :", op.own()+" PART #two :", ":s 403 Op #none :No such channel")
}

func TestWho(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	op.ask("MODE #room +v Plain")
	plain.line()
	op.expect("WHO #room", ":s 352 Op #room Op 127.0.0.1 s Op H@ :0 Real name", ":s 352 Op #room Plain 127.0.0.1 s Plain H+ :0 Real name",
		":s 315 Op #room :End of WHO list")
	mask := op.user().mask
	plain.expect("WHO #ROOM", ":s 352 Plain #ROOM Op "+mask+" s Op H@ :0 Real name", ":s 352 Plain #ROOM Plain 127.0.0.1 s Plain H+ :0 Real name",
		":s 315 Plain #ROOM :End of WHO list")
	plain.expect("WHO op", ":s 352 Plain #room Op "+mask+" s Op H@ :0 Real name", ":s 315 Plain op :End of WHO list")
	op.expect("WHO plain", ":s 352 Op #room Plain 127.0.0.1 s Plain H+ :0 Real name", ":s 315 Op plain :End of WHO list")
	outside.expect("WHO Op", ":s 352 Outside * Op "+mask+" s Op H :0 Real name", ":s 315 Outside Op :End of WHO list")
	outside.expect("WHO Ghost", ":s 315 Outside Ghost :End of WHO list")
	outside.expect("WHOIS Ghost", ":s 401 Outside Ghost :No such nick", ":s 318 Outside Ghost :End of WHOIS list")
	outside.expect("WHOIS s oP", ":s 311 Outside Op Op "+mask+" * :Real name", ":s 319 Outside Op :@#room", ":s 318 Outside Op :End of WHOIS list")
	outside.expect("WHOIS Outside", ":s 311 Outside Outside Outside 127.0.0.1 * :Real name", ":s 318 Outside Outside :End of WHOIS list")
	outside.expect("ISON op ghost PLAIN", ":s 303 Outside :Op Plain")
}

func TestList(t *testing.T) {
	f := start(t, nil)
	c := f.connect()
	c.encrypt()
	c.signOn("Ann")
	c.expect("LIST", ":s 321 Ann Channel :Users Name", ":s 322 Ann #GPG!12 0 :Lobby", ":s 322 Ann #GSP!gmtest 0 :", ":s 323 Ann :End of LIST")
	c.join("#gpg!12")
	c.join("#other")
	c.expect("LIST #*G!12", ":s 321 Ann Channel :Users Name", ":s 322 Ann #gpg!12 1 :", ":s 323 Ann :End of LIST")
}

func TestModerators(t *testing.T) {
	f := start(t, nil)
	ann := f.register("Ann", testNamespace)
	op, plain, _ := f.room("#room")
	c := f.logIn(ann)
	c.join("#room")
	op.want(c.own() + " JOIN :#room")
	f.moderate(ann.ID, "#ROOM", true)
	plain.want(c.masked()+" JOIN :#room", ":s MODE #room +o Ann-gs")
	op.want(":s MODE #room +o Ann-gs")
	op.expect("KICK #room Ann-gs", ":s 482 Op #room :The channel belongs to that user")
	c.expect("KICK #room Op :out", ":s MODE #room +o Ann-gs", c.own()+" KICK #room Op :out")
	f.moderate(ann.ID, "#ROOM", false) // the room is not of the service: it keeps its operators
	c.quiet()
}
