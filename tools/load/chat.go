package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/respawnd/respawnd/peerchat"
)

// lobby is the room of the load's players, chatText the text that one sends
// there.
const (
	lobby    = "#GSP!" + game
	chatText = "shall we play on the usual server"
)

// Numbers of members.
const (
	audience  = 200  // of the room in which one speaks, without the speaker
	crowdSize = 2000 // of the room that others join
)

// chatNicks counts clients: no two have the same nick, because a disconnected
// client stays for a moment.
var chatNicks atomic.Int64

// player is a client of the chat service.
type player struct{ *peerchat.Client }

// openChat signs on in clear text, so that ciphers do not count, or as games do.
func openChat(ctx context.Context, w *world, group byte, i int, encrypted bool) (player, error) {
	conn, err := dialTCP(ctx, address(group, i), w.daemon.at("peerchat"))
	if err != nil {
		return player{}, err
	}
	p := player{peerchat.NewClient(conn)}
	if encrypted {
		err = p.Encrypt(soon(), game, secret)
	}
	if err == nil {
		err = p.SignOn(soon(), fmt.Sprintf("l%s-%d", w.run, chatNicks.Add(1)))
	}
	if err != nil {
		_ = p.Close()
	}
	return p, err
}

func (p player) close(rude bool) {
	if !rude {
		_ = p.Quit("bye") // the end of the connection is also sufficient
	}
	_ = p.Close()
}

// lobbyVisitor signs on as games do, and off.
type lobbyVisitor struct {
	w *world
	i int
}

func openLobbyVisitor(_ context.Context, w *world, i int) (user, error) {
	return &lobbyVisitor{w, i}, nil
}

func (v *lobbyVisitor) do(ctx context.Context) error {
	p, err := openChat(ctx, v.w, groupChat, v.i, true)
	if err == nil {
		p.close(false)
	}
	return err
}

func (v *lobbyVisitor) close(bool) {}

// hall is a speaker and its audience.
type hall struct {
	speaker player
	members []player
	text    string
}

// openHall fills a room, in which all but the speaker are the audience.
func openHall(ctx context.Context, w *world, i int) (user, error) {
	return newHall(chatText, func(k int) (player, error) {
		p, err := openChat(ctx, w, groupChat, i*(audience+1)+k, false)
		if err == nil {
			_, err = p.Join(soon(), fmt.Sprintf("%s-%d", lobby, i), "")
		}
		return p, err
	})
}

// openBareHall connects to the bare server, which forwards the data of each
// client to the others. The text is longer by the prefix that the chat service
// adds to a line.
func openBareHall(ctx context.Context, w *world, i int) (user, error) {
	front := len(":lt-1234!X1lsaFvqsX|0@0123456789ab.masked ")
	return newHall(chatText+strings.Repeat(".", front), func(k int) (player, error) {
		conn, err := dialTCP(ctx, address(groupEcho, i*(audience+1)+k), w.daemon.at("fan"))
		if err != nil {
			return player{}, err
		}
		p := player{peerchat.NewClient(conn)}
		if _, err := p.AwaitCommand(soon(), fanReady); err != nil {
			p.close(true)
			return player{}, err
		}
		return p, nil
	})
}

// newHall opens the audience, then the speaker.
func newHall(text string, open func(k int) (player, error)) (*hall, error) {
	h := &hall{text: text}
	for k := range audience + 1 {
		p, err := open(k)
		if err != nil {
			h.close(true)
			return nil, err
		}
		h.members = append(h.members, p)
	}
	h.speaker, h.members = h.members[audience], h.members[:audience]
	return h, nil
}

// do sends a text and waits until all have received it.
func (h *hall) do(context.Context) error {
	if err := h.speaker.Say(lobby+"-0", h.text); err != nil {
		return err
	}
	for _, m := range h.members {
		if _, err := m.AwaitCommand(soon(), "PRIVMSG"); err != nil {
			return err
		}
	}
	return nil
}

func (h *hall) close(rude bool) {
	for _, m := range h.members {
		m.close(rude)
	}
	if h.speaker.Client != nil {
		h.speaker.close(rude)
	}
}

// member is a member of the crowded room that reads all data.
type member struct {
	player
	reading sync.WaitGroup
}

func openMember(ctx context.Context, w *world, i int) (user, error) {
	p, err := openChat(ctx, w, groupChat, i, false)
	if err != nil {
		return nil, err
	}
	m := &member{player: p}
	if _, err = m.Join(soon(), lobby, ""); err != nil {
		m.player.close(true)
		return nil, err
	}
	m.reading.Go(func() {
		for {
			if _, err := m.Next(context.Background()); err != nil {
				return // until it is closed
			}
		}
	})
	return m, nil
}

func (m *member) do(context.Context) error { return nil }

func (m *member) close(rude bool) {
	m.player.close(rude)
	m.reading.Wait()
}

// newMember joins the crowded room and leaves it.
type newMember struct{ player }

func openNewMember(ctx context.Context, w *world, i int) (user, error) {
	p, err := openChat(ctx, w, groupJoiners, i, false)
	if err != nil {
		return nil, err
	}
	return newMember{p}, nil
}

func (m newMember) do(context.Context) error {
	j, err := m.Join(soon(), lobby, "")
	if err != nil {
		return err
	}
	if len(j.Members) <= crowdSize {
		return fmt.Errorf("the room has %d members, want more than %d", len(j.Members), crowdSize)
	}
	if err := m.Part(lobby, "bye"); err != nil {
		return err
	}
	_, err = m.Await(soon(), func(l peerchat.Line) bool { return l.Is("PART", lobby) && l.Nick() == m.Nick })
	return err
}

// idler is a silent member of a room of a hundred.
type idler struct {
	player
	room string
}

// openIdler signs on as games do, and joins.
func openIdler(ctx context.Context, w *world, i int) (user, error) {
	p, err := openChat(ctx, w, groupChat, i, true)
	if err != nil {
		return nil, err
	}
	m := idler{p, fmt.Sprintf("%s-%d", lobby, i/100)}
	if err := m.do(ctx); err != nil {
		p.close(true)
		return nil, err
	}
	return m, nil
}

// do lists the members of the room again.
func (m idler) do(context.Context) error {
	_, err := m.Join(soon(), m.room, "")
	return err
}
