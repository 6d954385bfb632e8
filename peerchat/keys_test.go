package peerchat

import (
	"fmt"
	"strings"
	"testing"
)

func TestKeys_user(t *testing.T) {
	f := start(t, nil)
	ann, bob := f.signOn("Ann"), f.signOn("Bob")
	ann.expect(`SETKEY :\a\1\b_x\two words\c\`)
	bob.expect(`GETKEY aNN 123 0 :\c\a\none\username`, `:s 700 Bob Ann 123 :\\1\\Ann`)
	bob.expect(`GETKEY Ann 0 0 :\a\b_*`, `:s 700 Bob Ann 0 :\1\b_x\two words`)
	bob.expect(`GETKEY Ghost 5 0 :\a`, ":s 401 Bob Ghost :No such nick")
	bob.expect(`GETKEY #none 5 0 :\a`, ":s 403 Bob #none :No such channel")
	bob.expect(`GETKEY Ann 5`, ":s 461 Bob GETKEY :Not enough parameters")
	ann.join("#a")
	bob.join("#a")
	ann.want(bob.own() + " JOIN :#a")
	bob.expect(`GETKEY #A 7 0 :\a`, `:s 700 Bob Ann 7 :\1`, `:s 700 Bob Bob 7 :\`, ":s 701 Bob #A 7 :End of GETKEY")
	ann.expect(`SETKEY :\a\`)
	bob.expect(`GETKEY Ann 0 0 :\a`, `:s 700 Bob Ann 0 :\`)
	ann.quiet()
}

func TestKeys_member(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	set := func(by *client, line, heard string) {
		t.Helper()
		if heard == "" {
			by.expect(line)
		} else {
			by.expect(line, fmt.Sprintf(heard, by.nick))
		}
		for _, c := range []*client{op, plain} {
			switch {
			case c == by:
			case heard == "":
				c.quiet()
			default:
				c.want(fmt.Sprintf(heard, c.nick))
			}
		}
		outside.quiet()
	}
	set(plain, `SETCKEY #room Plain :\b_flags\sh\quiet\1\b_x\`, `:s 702 %s #room Plain BCAST :\b_flags\sh\b_x\`)
	set(plain, `SETCKEY #room plain :\quiet\2`, "")
	set(op, `SETCKEY #room PLAIN :\b_flags\r`, `:s 702 %s #room Plain BCAST :\b_flags\r`)
	set(plain, `SETCKEY #room Op :\b_flags\x`, "") // not its own
	set(outside, `SETCKEY #room Outside :\b_flags\x`, "")
	set(outside, `SETCKEY #none Outside :\b_flags\x`, "")
	set(op, `SETCKEY #room Ghost :\b_flags\x`, "")
	set(op, `SETCKEY #room Outside :\b_flags\x`, "")
	set(op, `SETCKEY #room Op :b_flags\x`, "") // not a list
	outside.expect(`GETCKEY #room * 1 0 :\b_flags\quiet`, `:s 702 Outside #room Op 1 :\\`, `:s 702 Outside #room Plain 1 :\r\2`,
		":s 703 Outside #room 1 :End of GETCKEY")
	outside.expect(`GETCKEY #Room Plain 2 0 :\username\b_*`, `:s 702 Outside #Room Plain 2 :\Plain\b_flags\r`)
	outside.expect(`GETCKEY #room Ghost 2 0 :\x`, ":s 401 Outside Ghost :No such nick")
	outside.expect(`GETCKEY #room Outside 2 0 :\x`, ":s 441 Outside Outside #room :They aren't on that channel")
	outside.expect(`GETCKEY #none * 2 0 :\x`, ":s 403 Outside #none :No such channel")
	plain.ask("PART #room")
	plain.join("#room")
	op.ask()
	outside.expect(`GETCKEY #room Plain 1 0 :\b_flags`, `:s 702 Outside #room Plain 1 :\`) // they ended with PART
}

func TestKeys_channel(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	op.expect(`SETCHANKEY #room :\b_x\1\quiet\q\b_y\2`, `:s 704 Op #room BCAST :\b_x\1\b_y\2`)
	plain.want(`:s 704 Plain #room BCAST :\b_x\1\b_y\2`)
	op.expect(`SETCHANKEY #ROOM :\quiet\z`)
	plain.expect(`SETCHANKEY #room :\b_x\9`)
	outside.expect(`SETCHANKEY #room :\b_x\9`)
	outside.expect(`SETCHANKEY #none :\b_x\9`)
	op.quiet()
	outside.expect(`GETCHANKEY #ROOM 9 0 :*`, `:s 704 Outside #ROOM 9 :\b_x\1\quiet\z\b_y\2`)
	outside.expect(`GETCHANKEY #room 9 0 :\quiet\none\b_*`, `:s 704 Outside #room 9 :\z\\b_x\1\b_y\2`)
	outside.expect(`GETCHANKEY #none 9 0 :*`, ":s 403 Outside #none :No such channel")
	op.expect("SETGROUP #room my group")
	outside.expect(`GETCHANKEY #room 9 0 :\groupname`, `:s 704 Outside #room 9 :\my`)
}

// TestKeys_limits: keys over a limit are dropped, others of the same line are not.
func TestKeys_limits(t *testing.T) {
	f := start(t, nil)
	c := f.signOn("Ann")
	for i := range 10_000 / maxPairs {
		var line strings.Builder
		line.WriteString("SETKEY :")
		for j := range maxPairs {
			fmt.Fprintf(&line, `\k%d\%d`, i*maxPairs+j, j)
		}
		c.send(line.String())
	}
	c.expect(`GETKEY Ann 1 0 :\k0\k63\k64\k9999`, `:s 700 Ann Ann 1 :\0\63\\`)
	c.expect("SETKEY :" + strings.Repeat(`\k\v`, maxPairs+1)) // too many for one line
	f.server.hall.check(t)
	bob := f.signOn("Bob")
	long := strings.Repeat("n", maxKeyName)
	bob.expect(`SETKEY :\` + long + `x\v\` + long + `\v\big\` + strings.Repeat("v", maxKeyValue) + `\bigger\` + strings.Repeat("v", maxKeyValue+1))
	bob.expect(`GETKEY Bob 1 0 :\`+long+`x\`+long+`\bigger`, `:s 700 Bob Bob 1 :\\v\`)
	for i := range 40 {
		bob.expect(fmt.Sprintf(`SETKEY :\k%d\%s`, i, strings.Repeat("v", maxKeyValue)))
	}
	if n := f.dropped(droppedKeys); n < 9_000 {
		t.Errorf("%d counted", n)
	}
	f.server.hall.check(t)
	for i := range 40 { // a key that is there may still change
		bob.expect(fmt.Sprintf(`SETKEY :\k%d\x`, i))
	}
	bob.expect(`GETKEY Bob 1 0 :\k0`, `:s 700 Bob Bob 1 :\x`)
	bob.expect("GETKEY Bob 1 0 :"+strings.Repeat(`\none`, 2*maxPairs), `:s 700 Bob Bob 1 :`+strings.Repeat(`\`, maxPairs))
}
