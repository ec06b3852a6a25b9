# A static binary and nothing else. Data lives in /data; KAFKA_* variables configure it as in the official Kafka image.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -pgo cmd/ottla/cpu.pprof -ldflags '-s -w' -o /ottla ./cmd/ottla && mkdir /data

FROM scratch
COPY --from=build /ottla /ottla
COPY --from=build /data /data
VOLUME /data
EXPOSE 9092
ENV KAFKA_LOG_DIRS=/data
ENTRYPOINT ["/ottla"]
