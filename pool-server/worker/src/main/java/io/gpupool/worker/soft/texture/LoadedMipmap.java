// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.texture;

import io.gpupool.soft.device.array.SoftArray;
import io.gpupool.soft.device.array.SoftMipmap;
import io.gpupool.soft.device.spec.ArrayShape;
import io.gpupool.worker.soft.state.Handles;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A mipmapped array and the handles given out for its levels; any thread may use it. */
public final class LoadedMipmap {
  private final SoftMipmap mipmap;
  private final Handles handles;
  private final Map<Integer, Long> levelHandles = new HashMap<>();

  LoadedMipmap(SoftMipmap mipmap, Handles handles) {
    this.mipmap = mipmap;
    this.handles = handles;
  }

  ArrayShape shape() {
    return mipmap.shape();
  }

  public List<SoftArray> levels() {
    return mipmap.levels();
  }

  /** The handle of a level, the same at every asking. */
  synchronized long levelHandle(int level) {
    SoftArray array = mipmap.level(level);
    return levelHandles.computeIfAbsent(level, key -> handles.add(array));
  }

  synchronized void destroy() {
    levelHandles.values().forEach(handle -> handles.remove(handle, SoftArray.class));
    levelHandles.clear();
    mipmap.destroy();
  }
}
