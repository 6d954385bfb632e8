package serverbrowse

import (
	"context"
	"net"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// play requests the list.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	if g.Secret() == "" {
		return "", service.ErrPlayNoKey
	}
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		reply, err := NewClient(conn, g.Secret()).List(ctx, NewRequest(g.Name, "", `\hostname`, FieldsForAll))
		return service.PlayedList(len(reply.Entries)), err
	})
}
