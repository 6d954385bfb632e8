// Package cluster is the contract between the nodes of a cluster and the services
// that run on each of them: the live nodes, which node a key belongs to, messages
// between nodes, and a [Map] of entries that all nodes see. It knows no service, and opens no
// socket; internal/cluster/natsbus is the Bus of the daemon, and clustertest one in memory.
package cluster

import (
	"context"
	"errors"
)

// Errors of a Bus.
var (
	// ErrGone reports that a node is not there: it is not live, or left before it
	// answered.
	ErrGone = errors.New("no such node in the cluster")
	// ErrTooLarge reports a payload of more than MaxPayload bytes.
	ErrTooLarge = errors.New("message too large for the cluster")
	// ErrBusy reports that too many messages or requests wait already.
	ErrBusy = errors.New("too many messages waiting in the cluster")
	// ErrNoHandler reports that the node is there and handles no such requests.
	ErrNoHandler = errors.New("the node does not handle such requests")
	// ErrClosed reports that this node has left the cluster.
	ErrClosed = errors.New("this node has left the cluster")
)

// RemoteError is the error of a handler on another node. Only its text arrives.
type RemoteError struct{ Node, Text string }

// Error implements error.
func (e *RemoteError) Error() string { return "node " + e.Node + ": " + e.Text }

// Limits of messages.
const (
	// MaxPayload is the maximum length of a payload or an answer in bytes.
	MaxPayload = 512 << 10
	// MaxSubject is the maximum length of a subject in bytes.
	MaxSubject = 64
	// MaxName is the maximum length of the name of a node or a cluster in bytes.
	MaxName = 63
)

// Bus carries messages between the nodes of a cluster. All methods may be called
// concurrently. A subject is up to MaxSubject lower-case letters, digits, dashes
// and underscores, with single dots between them; others panic, because they are
// constants of the caller. Payloads are copied before a call returns and belong to
// their receiver.
//
// Messages of other nodes are checked like any other input: nodes prove who they are,
// but may be of another version.
type Bus interface {
	// Self returns the name of this node.
	Self() string
	// Nodes returns the live nodes, this one included, sorted. The slice must not
	// be modified.
	Nodes() []string
	// Incarnation returns a number that a live node has since it started and that
	// differs after a restart; 0: no such node.
	Incarnation(node string) uint64
	// Changed returns a channel that is closed when a node comes, goes or restarts.
	// A follower calls it before it reads Nodes.
	Changed() <-chan struct{}
	// Owner returns the live node that a key belongs to. It is the same on all nodes
	// that see the same Nodes, and only the keys of a node that left move.
	Owner(key string) string

	// Publish sends to all other nodes, Send to one, which may be this node itself.
	// Neither blocks nor waits. Messages that cannot be sent are counted, and reported
	// to OnLoss of their receivers.
	Publish(subject string, data []byte) error
	Send(node, subject string, data []byte) error
	// Subscribe calls f with the messages of live nodes, one after the other, each
	// node's in its order. f must not block. After cancel has returned, no call begins.
	Subscribe(subject string, f func(from string, data []byte)) (cancel func())
	// OnLoss calls f when messages of a live node may have been lost, of whatever
	// subject, also while it was not live but did not restart: a receiver that builds
	// a state from messages then asks for it. The call comes within seconds after the
	// loss. f must not block.
	OnLoss(f func(from string)) (cancel func())
	// Unread counts a message of another node that its subscriber cannot read. The first one of
	// a subject is logged.
	Unread(from, subject string)

	// Request asks one node, which may be this node itself, and waits for its answer.
	// The error is ErrGone if the node is not live or leaves meanwhile, and a
	// *RemoteError if its handler returned one.
	Request(ctx context.Context, node, subject string, data []byte) ([]byte, error)
	// Handle answers requests with f, which may block until its context ends. A
	// subject has one handler; a second one panics.
	Handle(subject string, f func(ctx context.Context, from string, data []byte) ([]byte, error)) (cancel func())
}

// CheckName returns an error for a name that no node and no cluster can have.
func CheckName(name string) error {
	if name == "" || len(name) > MaxName {
		return errBadName
	}
	for i := range len(name) {
		if !wordByte(name[i]) && (name[i] < 'A' || name[i] > 'Z') {
			return errBadName
		}
	}
	return nil
}

var errBadName = errors.New("want 1 to 63 letters, digits, dashes and underscores")

// CheckSubject reports whether a Bus takes a subject.
func CheckSubject(subject string) bool {
	if len(subject) > MaxSubject {
		return false
	}
	dot := true // an empty word before a dot, and an empty subject, are wrong
	for i := range len(subject) {
		switch c := subject[i]; {
		case wordByte(c):
			dot = false
		case c == '.' && !dot:
			dot = true
		default:
			return false
		}
	}
	return !dot
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
