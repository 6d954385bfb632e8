package peerchat

import (
	"context"

	"github.com/respawnd/respawnd/internal/cluster"
)

// oneBus is a bus on which this node, node0, sees another one, node1, that hears nothing.
type oneBus struct{}

func (*oneBus) Self() string                                           { return "node0" }
func (*oneBus) Nodes() []string                                        { return []string{"node0", "node1"} }
func (*oneBus) Incarnation(string) uint64                              { return 1 }
func (*oneBus) Changed() <-chan struct{}                               { return nil }
func (*oneBus) Owner(key string) string                                { return cluster.Rendezvous(key, []string{"node0", "node1"}) }
func (*oneBus) Publish(string, []byte) error                           { return nil }
func (*oneBus) Send(string, string, []byte) error                      { return nil }
func (*oneBus) Subscribe(string, func(string, []byte)) (cancel func()) { return func() {} }
func (*oneBus) OnLoss(func(string)) (cancel func())                    { return func() {} }
func (*oneBus) Unread(string, string)                                  {}

func (*oneBus) Request(context.Context, string, string, []byte) ([]byte, error) {
	return nil, cluster.ErrGone
}

func (*oneBus) Handle(string, func(context.Context, string, []byte) ([]byte, error)) (cancel func()) {
	return func() {}
}
