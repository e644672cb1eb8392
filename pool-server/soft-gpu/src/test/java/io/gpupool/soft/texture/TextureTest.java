// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TextureTest {
  private static final TexelFormat FLOATS = new TexelFormat(ChannelType.FLOAT, 1, false);
  private static final TexelFormat BYTES = new TexelFormat(ChannelType.UNSIGNED_8, 1, false);
  private static final Sampler POINTS = sampler(AddressMode.CLAMP, false, false, false);

  private final Sample sample = new Sample();

  @Test
  void linear_betweenElements_weighsWithEightBits() {
    Texture texture = line(sampler(AddressMode.CLAMP, true, false, false), 0, 256);
    assertThat(read(texture, 1)).isEqualTo(128);
    assertThat(read(texture, 0.75f)).isEqualTo(64);
    // A 512th more is half a step, and rounded up.
    assertThat(read(texture, 0.75f + 1 / 512f)).isEqualTo(65);
    assertThat(read(texture, 0.75f + 1 / 1024f)).isEqualTo(64);
  }

  @Test
  void addressModes_outside_standForWhatTheySay() {
    float[] values = {1, 2, 3, 4};
    assertThat(readAt(AddressMode.WRAP, values, -0.125f, 1.125f, 2.375f)).containsExactly(4, 1, 2);
    assertThat(readAt(AddressMode.MIRROR, values, -0.125f, 1.125f, 1.375f))
        .containsExactly(1, 4, 3);
    assertThat(readAt(AddressMode.CLAMP, values, -5, 0.125f, 5)).containsExactly(1, 1, 4);
    assertThat(readAt(AddressMode.BORDER, values, -0.125f, 0.375f, 1.125f))
        .containsExactly(9, 2, 9);
  }

  @Test
  void planesAndLines_anyModesFormatsAndPlaces_readAsTheirLayeredKind() {
    Random random = new Random(7);
    Sample other = new Sample();
    for (int trial = 0; trial < 300; trial++) {
      int width = 1 + random.nextInt(9);
      int height = 1 + random.nextInt(9);
      boolean floats = random.nextBoolean();
      int channels = 1 << random.nextInt(3);
      TexelFormat format =
          new TexelFormat(floats ? ChannelType.FLOAT : ChannelType.UNSIGNED_8, channels, false);
      MemorySegment memory = Arena.ofAuto().allocate(2L * width * height * format.bytes(), 4);
      for (long i = 0; i < memory.byteSize() / format.type().bytes(); i++) {
        if (floats) {
          float value = random.nextInt(20) == 0 ? Float.POSITIVE_INFINITY : random.nextFloat(-9, 9);
          memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        } else {
          memory.set(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt());
        }
      }
      long pitchBytes = (long) width * format.bytes();
      AddressMode mode = AddressMode.values()[random.nextInt(4)];
      boolean normalized = random.nextBoolean();
      Sampler sampler = sampler(mode, random.nextBoolean(), false, normalized);
      Texels texels = new Texels(memory, format, width, height, 2, pitchBytes);
      Texture texture = new Texture(List.of(texels), sampler, random.nextInt(2), 1);
      for (int read = 0; read < 30; read++) {
        float x = random.nextFloat(-12, 20) / (normalized ? width : 1);
        float y = random.nextFloat(-12, 20) / (normalized ? height : 1);
        x = read == 0 ? Float.NaN : read < 9 ? (float) Math.floor(x) + 0.5f : x;
        boolean plane = random.nextBoolean();
        texture.sample(plane ? Geometry.PLANE : Geometry.LINE, 0, x, y, 0, 0, sample);
        texture.sample(plane ? Geometry.PLANES : Geometry.LINES, 0, x, y, 0, 0, other);
        for (int channel = 0; channel < 4; channel++) {
          assertThat(Float.intBitsToFloat(sample.channel(channel)))
              .as("channel %d at %s, %s of %s", channel, x, y, sampler)
              .isEqualTo(Float.intBitsToFloat(other.channel(channel)));
        }
      }
    }
  }

  @Test
  void wrap_withoutNormalizedCoordinates_isClamp() {
    Texture texture = line(sampler(AddressMode.WRAP, false, false, false), 1, 2, 3);
    assertThat(read(texture, 3.5f)).isEqualTo(3);
    assertThat(read(texture, -0.5f)).isEqualTo(1);
  }

  @Test
  void coordinates_notFinite_readSomeElement() {
    Texture texture = line(sampler(AddressMode.CLAMP, true, false, false), 1, 2, 3);
    assertThat(read(texture, Float.POSITIVE_INFINITY)).isEqualTo(3);
    assertThat(read(texture, Float.NEGATIVE_INFINITY)).isEqualTo(1);
    assertThat(read(texture, Float.NaN)).isBetween(1f, 3f);
  }

  @Test
  void bytes_readAsFloats_areNormalized() {
    Texture floats = bytes(POINTS, 0, 51, 255);
    assertThat(read(floats, 1.5f)).isEqualTo(0.2f);
    assertThat(read(floats, 2.5f)).isEqualTo(1);
    Texture integers = bytes(sampler(AddressMode.CLAMP, false, true, false), 0, 51, 255);
    integers.sample(Geometry.LINE, 0, 1.5f, 0, 0, 0, sample);
    assertThat(sample.channel(0)).isEqualTo(51);
  }

  @Test
  void channels_thatTheFormatLacks_areZeroAndOne() {
    Texture texture = line(POINTS, 7);
    texture.sample(Geometry.LINE, 0, 0.5f, 0, 0, 0, sample);
    assertThat(Float.intBitsToFloat(sample.channel(1))).isZero();
    assertThat(Float.intBitsToFloat(sample.channel(3))).isEqualTo(1);
  }

  @Test
  void elementsOfMemory_outside_areZero() {
    Texture texture =
        new Texture(List.of(texels(FLOATS, 1, 5, 6)), Sampler.ofElements(false), 0, 1);
    texture.fetch(Geometry.LINE, 0, 2, 0, 0, 0, sample);
    assertThat(sample.channel(0)).isZero();
    texture.fetch(Geometry.LINE, 0, -1, 0, 0, 0, sample);
    assertThat(sample.channel(0)).isZero();
    texture.fetch(Geometry.LINE, 0, 1, 0, 0, 0, sample);
    assertThat(Float.intBitsToFloat(sample.channel(0))).isEqualTo(6);
  }

  @Test
  void cube_seamless_filtersAcrossEdges() {
    float[] faces = new float[24];
    for (int i = 0; i < faces.length; i++) {
      faces[i] = i / 4;
    }
    Texels texels = new Texels(segment(faces), FLOATS, 2, 2, 6, 8);
    Sampler seamless = sampler(AddressMode.CLAMP, true, false, true);
    Texture texture = new Texture(List.of(texels), seamless, 0, 6);
    // Between +x (0) and +z (4): halfway.
    texture.sample(Geometry.CUBE, 0, 1, 0, 1, 0, sample);
    assertThat(Float.intBitsToFloat(sample.channel(0))).isEqualTo(2);
    // The middle of a face is that face alone.
    texture.sample(Geometry.CUBE, 0, 0, -1, 0, 0, sample);
    assertThat(Float.intBitsToFloat(sample.channel(0))).isEqualTo(3);
  }

  @Test
  void levels_linear_areInterpolated() {
    Sampler trilinear =
        new Sampler(
            List.of(AddressMode.CLAMP, AddressMode.CLAMP, AddressMode.CLAMP),
            false,
            false,
            true,
            false,
            false,
            new MipmapFilter(true, 0, 0, 1),
            List.of(0f, 0f, 0f, 0f));
    Texture texture =
        new Texture(List.of(texels(FLOATS, 2, 8, 8), texels(FLOATS, 1, 16)), trilinear, 0, 1);
    texture.sample(Geometry.PLANE, 0, 0.5f, 0.5f, 0, 0.25f, sample);
    assertThat(Float.intBitsToFloat(sample.channel(0))).isEqualTo(10);
    texture.sample(Geometry.PLANE, 0, 0.5f, 0.5f, 0, 7, sample);
    assertThat(Float.intBitsToFloat(sample.channel(0))).isEqualTo(16);
  }

  private float read(Texture texture, float x) {
    texture.sample(Geometry.LINE, 0, x, 0, 0, 0, sample);
    return Float.intBitsToFloat(sample.channel(0));
  }

  /** Reads at normalised coordinates. */
  private float[] readAt(AddressMode mode, float[] values, float... places) {
    Texture texture = line(sampler(mode, false, false, true), values);
    float[] read = new float[places.length];
    for (int i = 0; i < places.length; i++) {
      read[i] = read(texture, places[i]);
    }
    return read;
  }

  @Test
  void volume_readAsLayers_hasTheLastSliceInPlaceOfMore() {
    Texels large = new Texels(segment(1, 2, 3, 4), FLOATS, 1, 1, 4, 4);
    Texels small = new Texels(segment(5, 6), FLOATS, 1, 1, 2, 4);
    Texture texture = new Texture(List.of(large, small), POINTS, 0, 4);

    texture.fetch(Geometry.of(4), 3, 0, 0, 0, 1, sample);

    assertThat(Float.intBitsToFloat(sample.channel(0))).isEqualTo(6);
  }

  @Test
  void texels_outsideOfTheirMemory_areNotRead() {
    Texels texels = new Texels(segment(1, 2, 3, 4), FLOATS, 2, 2, 1, 8);

    assertThat(texels.value(1, 1, 0, 0)).isEqualTo(4);
    int[][] outside = {{2, 1, 0}, {0, 2, 0}, {0, 0, 1}, {-1, 0, 0}, {0, Integer.MAX_VALUE, 9}};
    for (int[] place : outside) {
      assertThatThrownBy(() -> texels.value(place[0], place[1], place[2], 0))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> texels.bits(place[0], place[1], place[2], 0))
          .isInstanceOf(IndexOutOfBoundsException.class);
    }
  }

  private static Texture line(Sampler sampler, float... values) {
    return new Texture(List.of(texels(FLOATS, 1, values)), sampler, 0, 1);
  }

  private static Texture bytes(Sampler sampler, int... values) {
    MemorySegment bytes = Arena.ofAuto().allocate(values.length);
    for (int i = 0; i < values.length; i++) {
      bytes.set(ValueLayout.JAVA_BYTE, i, (byte) values[i]);
    }
    Texels texels = new Texels(bytes, BYTES, values.length, 1, 1, values.length);
    return new Texture(List.of(texels), sampler, 0, 1);
  }

  private static Texels texels(TexelFormat format, int rows, float... row) {
    float[] all = new float[rows * row.length];
    for (int i = 0; i < all.length; i++) {
      all[i] = row[i % row.length];
    }
    return new Texels(segment(all), format, row.length, rows, 1, 4L * row.length);
  }

  private static MemorySegment segment(float... values) {
    return Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, values);
  }

  private static Sampler sampler(
      AddressMode mode, boolean linear, boolean integers, boolean normalized) {
    return new Sampler(
        List.of(mode, mode, mode),
        linear,
        integers,
        normalized,
        false,
        normalized && linear,
        MipmapFilter.NONE,
        List.of(9f, 9f, 9f, 9f));
  }
}
