// A peer for `make bench`: go-mysql reads a part of a server's log and decodes its rows to nowhere.
//
//	cd tests/bench/go-mysql && go build -o /tmp/go-mysql .
//	TIDEGATE_BENCH_PEER=/tmp/go-mysql make bench
//
// Arguments: port, log file, offset of the first byte, offset behind the last.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strconv"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: go-mysql PORT FILE START END")
	}
	port, start, end := number(os.Args[1]), number(os.Args[3]), number(os.Args[4])
	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID:       3_999_999_999,
		Flavor:         "mariadb",
		Host:           "127.0.0.1",
		Port:           uint16(port),
		User:           "rig",
		Password:       "rig",
		VerifyChecksum: true,
		Logger:         slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	streamer, err := syncer.StartSync(mysql.Position{Name: os.Args[2], Pos: uint32(start)})
	if err != nil {
		log.Fatal(err)
	}
	images := 0
	for {
		event, err := streamer.GetEvent(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		if rows, ok := event.Event.(*replication.RowsEvent); ok {
			images += len(rows.Rows)
		}
		if uint64(event.Header.LogPos) >= end {
			break
		}
	}
	fmt.Println(images)
}

func number(text string) uint64 {
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		log.Fatal(err)
	}
	return number
}
