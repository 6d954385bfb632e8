package peerchat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// fuzzWords are the words of random sessions.
var fuzzWords = []string{
	"a", "b", "A-gs", "*", "#room", "#ROOM", "#two", "#GSP!gmtest", "#gpg!12", "#GSP!gmtest!MqNKN001KM", "#GSP!gmtest!Mqnkn001KM", "+b", "-b",
	"+k", "-k", "+l", "+o", "-o", "+v", "+ovbkl", "-i+p-s-m+n+t+l+e", "+q", "-q", "+i", "-i", "+m", "+b*!*@*", "*!*@*", "8", "0", ":", ":x y",
	`:\b_k\v\x\y`, `:\b_*\username`, ":*", ":\x01ACTION x\x01", ":@@@NFO x", "\r", "\x00", "#a,#b,#room,", "x,y", "u", ":u!v@w", "gmtest", "1",
}

// randomLine returns a line of a client: nearly all begin with a command.
func randomLine(r *rand.Rand, commands []string) string {
	var b strings.Builder
	b.WriteString(commands[r.IntN(len(commands))])
	for range r.IntN(6) {
		b.WriteByte(' ')
		b.WriteString(fuzzWords[r.IntN(len(fuzzWords))])
	}
	return b.String()
}

// fuzzCommands are the commands that do not end a connection.
func fuzzCommands() []string {
	commands := []string{"", "XYZ"}
	for c := range commandTable() {
		if c != "QUIT" && c != "CRYPT" {
			commands = append(commands, c)
		}
	}
	return commands
}

// TestRandomSessions has clients send random lines at the same time. Each line that
// comes back is as its reader wants it, and the hall stays consistent.
func TestRandomSessions(t *testing.T) {
	f := start(t, nil)
	commands := fuzzCommands()
	const n, lines = 8, 400
	done := make(chan struct{})
	var clients []*client
	for i := range n {
		clients = append(clients, f.signOn(string(rune('a'+i))))
	}
	for i, c := range clients {
		go func() {
			defer func() { done <- struct{}{} }()
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for j := range lines {
				if c.trySend(randomLine(r, commands)+"\r\n") != nil {
					return
				}
				if j%10 == 9 {
					f.server.hall.check(t)
				}
			}
			_ = c.trySend("QUIT :done\r\n")
		}()
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				if _, err := c.tryLine(); err != nil {
					return
				}
			}
		}()
	}
	for range 2 * n {
		<-done
	}
}

// FuzzSession sends one client's lines, beside another client in the same room.
func FuzzSession(f *testing.F) {
	f.Add([]byte("JOIN #room\r\nMODE #room +ovbkl a b c d 5\r\nPRIVMSG #room :x\r\n"), byte(0))
	f.Add([]byte("NICK *\r\nUSRIP\r\nLOGIN 1 a b\r\nREGISTERNICK 1 a b\r\n"), byte(1))
	f.Add([]byte("SETCKEY #room Ann :\\b_x\\1\r\nGETCKEY #room * 0 0 :\\b_*\r\nGETCHANKEY #room 0 0 :*\n"), byte(2))
	for _, session := range []string{"secure_full_session", "peer_session"} {
		var all bytes.Buffer
		for _, l := range recordedSessions(f)[session] {
			if l.Dir == "C>S" {
				all.WriteString(l.Clear)
			}
		}
		f.Add(all.Bytes(), byte(2))
	}
	s := startPipe(f, nil)
	s.timeout = timeout // the clock is a real one here
	mate := s.signOn("Mate")
	mate.join("#room")
	go func() { _, _ = io.Copy(io.Discard, mate.conn) }()
	n := 0
	f.Fuzz(func(t *testing.T, data []byte, kind byte) {
		conn, err := s.dial()
		if err != nil {
			t.Fatal(err)
		}
		c := &client{t: t, f: s, conn: conn}
		n++
		if kind&1 != 0 {
			c.encrypt()
		}
		if kind&2 != 0 {
			c.signOn(fmt.Sprintf("n%d", n))
		}
		done := make(chan struct{})
		ciphers := bytes.Contains(bytes.ToUpper(cleanInPlace(bytes.Clone(data))), []byte("CRYPT")) // nothing more can be read
		go func() {
			defer close(done)
			if ciphers {
				_, _ = io.Copy(io.Discard, conn)
			}
			for {
				line, err := c.tryLine()
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("no answer, unread: %q", c.buf)
				}
				if err != nil || strings.HasPrefix(line, "ERROR ") || line == ":s PONG s :fence" {
					return
				}
			}
		}()
		_ = c.trySend(string(data) + "\r\nPING :fence\r\n")
		if !ciphers {
			<-done
		}
		_ = conn.Close()
		<-done
		s.server.hall.check(t)
	})
}
