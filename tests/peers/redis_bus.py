"""A bus over Redis, as the README shows it; tests/hosting runs it."""

import redis


class RedisBus:
    """A bus for several hosts: one channel of a Redis server."""

    def __init__(self, url, channel="mcp"):
        self.redis, self.channel = redis.Redis.from_url(url), channel

    def publish(self, message):
        self.redis.publish(self.channel, message)

    def subscribe(self, hear):
        channels = self.redis.pubsub()
        channels.subscribe(**{self.channel: lambda message: hear(message["data"])})
        channels.get_message(timeout=5)  # Redis says that it has subscribed: nothing is missed from here on
        channels.run_in_thread(daemon=True, exception_handler=lambda error, *_: print("redis:", error))
