package peerchat

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// The commands in this file are questions of IRC programs about the server. Games ask none of them.

// version is the command of that name. The answer leaves out the release.
func (x *session) version(context.Context, *message) error {
	x.answer(numVersion, "", "respawnd", serverName)
	return nil
}

// time is the command of that name.
func (x *session) time(context.Context, *message) error {
	x.answer(numTime, time.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC"), serverName)
	return nil
}

// admin is the command of that name.
func (x *session) admin(context.Context, *message) error {
	x.answer(numNoAdmin, "No administrative information is available", serverName)
	return nil
}

// info is the command of that name.
func (x *session) info(context.Context, *message) error {
	x.answer(numInfo, "Chat of a respawnd server")
	x.answer(numEndOfInfo, "End of INFO list")
	return nil
}

// users is the command LUSERS.
func (x *session) users(context.Context, *message) error {
	h := x.server.hall
	nodes := max(1, len(h.links.chats))
	x.answer(numUsers, fmt.Sprintf("There are %d users and 0 invisible on %d servers", len(h.nicks), nodes))
	x.answer(numChannels, "channels formed", strconv.Itoa(len(h.channels)))
	x.answer(numClients, fmt.Sprintf("I have %d clients and %d servers", h.users.Load(), nodes-1))
	return nil
}

// linksTo is the command LINKS. The nodes of a cluster are one server.
func (x *session) linksTo(context.Context, *message) error {
	x.answer(numLink, "0 respawnd", serverName, serverName)
	x.answer(numEndOfLinks, "End of LINKS list", "*")
	return nil
}

// oper is the command of that name. The operators of the service use commands of the daemon.
func (x *session) oper(context.Context, *message) error {
	x.drop(droppedNotAllowed)
	x.answer(numNoOperators, "No operators sign in here")
	return nil
}

// whoWas is the command of that name. Clients that left are not remembered.
func (x *session) whoWas(_ context.Context, m *message) error {
	x.answer(numWasNoSuchNick, "There was no such nickname", m.params[0])
	x.answer(numEndOfWhoWas, "End of WHOWAS", m.params[0])
	return nil
}
