// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.runtime.BackgroundThread;
import io.gpupool.runtime.StateChangeLogger;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.Files;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running device plugin. It serves its socket and keeps the kubelet registered, even when the
 * socket or the kubelet goes and comes back. It has its own thread; started and closed by any
 * thread.
 */
public final class DevicePlugin implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DevicePlugin.class);

  private final PluginOptions options;
  private final EventLoopGroup loops;
  private final DevicePluginService service;
  private final PoolState.Subscription subscription;
  private final BackgroundThread thread;
  private volatile boolean closed;
  private volatile boolean serving;

  // The rest is owned by the thread.
  private final KubeletRegistration registration;
  private final StateChangeLogger saying = new StateChangeLogger(LOG);
  private @Nullable PluginSocket socket;
  private boolean served;

  private DevicePlugin(PoolState poolState, PluginOptions options, EventLoopGroup loops) {
    this.options = options;
    this.loops = loops;
    service = new DevicePluginService(poolState, options);
    registration = new KubeletRegistration(options, loops);
    subscription = poolState.onChange(service::refresh);
    thread = new BackgroundThread(Thread.ofPlatform().name("device-plugin").daemon(), this::run);
  }

  /**
   * Starts the plugin, even if there is no kubelet yet or the pool is not known yet.
   *
   * @param loops event loops of its connections; not closed with this
   */
  public static DevicePlugin start(
      PoolState poolState, PluginOptions options, EventLoopGroup loops) {
    DevicePlugin plugin = new DevicePlugin(poolState, options, loops);
    plugin.thread.start();
    return plugin;
  }

  /** Returns whether the socket is there, so that a kubelet may connect. */
  public boolean isServing() {
    return serving;
  }

  /** Returns whether a kubelet is watching the devices. */
  public boolean isWatched() {
    return serving && service.isWatched();
  }

  /** Returns how many times a kubelet has accepted the plugin. */
  public long registrations() {
    return registration.registrations();
  }

  private void run() {
    try (FolderWatch folder = new FolderWatch(options.folder())) {
      while (!closed) {
        look();
        folder.await(options.lookEvery());
      }
    } catch (InterruptedException e) {
      // Closed.
    } finally {
      serving = false;
      if (socket != null) {
        socket.close();
      }
    }
  }

  private void look() {
    try {
      service.refresh();
      serve();
      serving = socket != null;
      if (socket != null) {
        registration.look(service.isWatched(), System.nanoTime());
      }
    } catch (RuntimeException e) {
      // The next look may succeed; without this thread the node would have no devices.
      LOG.error("looking after the device plugin failed", e);
    }
  }

  /** Makes the socket if it is missing; each kubelet removes it when it starts. */
  private void serve() {
    if (socket != null && socket.isInPlace()) {
      return;
    }
    if (socket != null) {
      socket.close();
    }
    socket = null;
    if (!Files.isDirectory(options.folder())) {
      saying.info("there is no folder " + options.folder() + " (yet): is a kubelet here?");
      return;
    }
    // The plugin that comes later is the newer one and stays; otherwise two would take turns
    // forever.
    if (served && PluginSocket.isServed(options.socket())) {
      saying.warn("another plugin has taken over " + options.socket());
      return;
    }
    try {
      socket = PluginSocket.serve(options.socket(), loops, service);
      served = true;
      registration.begin();
      saying.anew();
      LOG.info("serving at {}", options.socket());
    } catch (IOException e) {
      saying.warn("cannot serve at " + options.socket() + "; it is tried again: " + e);
    }
  }

  /** Ends what the kubelet watches and removes the socket. */
  @Override
  public void close() {
    closed = true;
    subscription.close();
    thread.close();
  }
}
